"""A function, an object and a coroutine function are probes to a type checker, whatever they name."""

from typing import Any

from typing_extensions import assert_type

from deltaspan import change, probe
from deltaspan.checks import Change
from deltaspan.typing import Probe


def count_orders(tenant: str, *, causal_tag: str) -> int:
    raise NotImplementedError


class Length:
    def __call__(self, **arguments: Any) -> int:
        raise NotImplementedError


def made() -> Probe[int]:
    return count_orders


@probe(content=True, hint="the replica may lag behind")
def read_notes() -> dict[int, str]:
    raise NotImplementedError


assert_type(change("notes", read_notes).adding(1).showing(), Change[dict[int, str]])
counts: Probe[int] = count_orders
lengths: Probe[int] = Length()
anything: Probe[object] = count_orders

assert_type(change("orders", made()), Change[int])
change("orders", counts).by(1)
change("orders", lengths).by(1)
change("orders", counts).adding("ink")  # type: ignore[misc]
text: Probe[str] = count_orders  # type: ignore[assignment]
