"""The runs in which a check that is `sampled` reads.

All runs of one root are decided alike. The root may come from the baggage of a stranger, who must not be able
to choose one that is never read. So either a key that the processes share decides together with the root, or
the outermost run of this process decides, whose id is random.
"""

from __future__ import annotations

import hmac
from typing import Final

from deltaspan._config import settings
from deltaspan.causal_tag import CausalTag

_SHARES: Final = 2**32


def is_sampled(tag: CausalTag, rate: float) -> bool:
    """Return whether a run belongs to the share that is read.

    Args:
        tag: the causal tag of the run.
        rate: the share, from 0 to 1.
    """
    key = settings().sampling_key
    if key is None:
        number = int(tag.local_root.id[:8], 16)
    else:
        digest = hmac.digest(key.encode("utf-8", "surrogateescape"), tag.root_id.encode(), "sha256")
        number = int.from_bytes(digest[:4], "big")
    return number < rate * _SHARES
