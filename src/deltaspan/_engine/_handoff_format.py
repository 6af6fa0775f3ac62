"""What is written of a window that is handed over, and how it is read back; the layout of the text.

The text may come from anywhere. Whatever is read is checked, and nothing in it is evaluated or imported.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from deltaspan._attribution import ALONE, Overlap, Rival
from deltaspan._engine._plan import CheckPlan
from deltaspan._engine._reads import Read
from deltaspan._guard import class_name, safe_str
from deltaspan._state import Unreadable, Unwritable, canonical, decode, encode
from deltaspan._state.snapshot import Unfreezable
from deltaspan._telemetry import Resumed
from deltaspan._verdicts import UNREAD, ProbeTimeout
from deltaspan.causal_tag import CausalTag, carrier_headers, is_tag
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError

__all__ = [
    "FORMAT",
    "MICRO",
    "Handed",
    "checked_key",
    "read",
    "seal",
    "unseal",
    "write_unopened",
    "written_args",
    "written_check",
    "written_descendants",
    "written_overlap",
]

FORMAT: Final = 1
"""The version of the document's layout; another one is refused rather than guessed at."""

_KIND: Final = "deltaspan.window"
_DIGEST: Final = "sha256"
_SIGNATURE: Final = "hmac-sha256"
_NOT_OURS: Final = "this is not the text of a window; pass on what to_json() returned, as it is"


def checked_key(key: object) -> bytes | None:
    """Return a key as bytes; None when none is given. What is refused is never quoted.

    Raises:
        DefinitionTypeError: it is neither bytes nor text.
        DefinitionValueError: it is empty.
    """
    if key is None:
        return None
    if not isinstance(key, bytes | str):
        raise DefinitionTypeError(f"key must be bytes or text, not {type(key).__name__}")
    if not key:
        raise DefinitionValueError("key is empty; give the secret itself, or leave key out")
    return key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key


def seal(content: dict[str, Any], key: bytes | None) -> str:
    """Return a document as text.

    Args:
        content: what `json.dumps` takes.
        key: signs it; without one a digest is taken.
    """
    document = {"kind": _KIND, "format": FORMAT, "window": content}
    return canonical({**document, "seal": _seal_of(document, key)})


def unseal(text: str | bytes | bytearray, key: bytes | None) -> dict[str, Any]:
    """Return the content of a text that `seal` returned.

    Args:
        text: the text; it may come from anywhere.
        key: what it must have been signed with; None when it must not be signed.

    Raises:
        DefinitionTypeError: it is not text.
        DefinitionValueError: it is malformed, of another format, corrupted or forged, or just one side has a
            key.
    """
    if not isinstance(text, str | bytes | bytearray):
        raise DefinitionTypeError(f"a window is handed over as text, not as {type(text).__name__}")
    document = _parsed(text)
    if type(document) is not dict or document.get("kind") != _KIND:
        raise DefinitionValueError(_NOT_OURS)
    version = document.get("format")
    if type(version) is not int or version != FORMAT:
        raise DefinitionValueError(
            f"this window was written in format {version!r:.20}, and this version of deltaspan reads format "
            f"{FORMAT}; use the same version on both sides"
        )
    found, content = document.pop("seal", None), document.get("window")
    if type(found) is not str or type(content) is not dict:
        raise DefinitionValueError(_NOT_OURS)
    _compare(found, document, key)
    return content


def _parsed(text: str | bytes | bytearray) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        # Not `from` the error, which quotes the text: it may hold states.
        raise DefinitionValueError(f"{_NOT_OURS} (it is not JSON, or was cut)") from None


def _compare(found: str, document: dict[str, Any], key: bytes | None) -> None:
    method = found.partition(":")[0]
    if method not in (_DIGEST, _SIGNATURE):
        raise DefinitionValueError(_NOT_OURS)
    if method == _SIGNATURE and key is None:
        raise DefinitionValueError(
            "this window was signed; give from_json() the key that to_json() was given"
        )
    if method == _DIGEST and key is not None:
        raise DefinitionValueError(
            "a key was given, but this window was not signed, so anyone may have written it; give to_json() "
            "the same key"
        )
    try:
        expected = _seal_of(document, key)
    except (ValueError, RecursionError):
        raise DefinitionValueError(_NOT_OURS) from None
    if hmac.compare_digest(expected.encode(), found.encode("utf-8", "surrogatepass")):
        return
    if key is None:
        raise DefinitionValueError(
            "this window was corrupted on its way: its digest does not fit its content"
        )
    raise DefinitionValueError(
        "this window was changed on its way, or was signed with another key: its signature does not fit its "
        "content"
    )


def _seal_of(document: dict[str, Any], key: bytes | None) -> str:
    data = canonical(document).encode("ascii")
    if key is None:
        return f"{_DIGEST}:{hashlib.sha256(data).hexdigest()}"
    return f"{_SIGNATURE}:{hmac.new(key, data, hashlib.sha256).hexdigest()}"


MICRO: Final = 1_000_000
"""Times are whole microseconds: a float may be written differently by the next tool that handles the text."""

_STATE: Final = "state"
_FAULT: Final = "fault"
_OVERLAP: Final = "overlap"
_DESCENDANTS: Final = "descendants"
_FAULTS: Final[dict[str, type[Exception]]] = {"incomparable": Unfreezable, "timeout": ProbeTimeout}


class HandedCheck(NamedTuple):
    """One check as it was handed over.

    Attributes:
        state: its frozen baseline; UNREAD when there is none.
        error: why there is none; None also when the run was sampled out.
        seconds: what the read cost.
        overlap: the windows that overlapped there.
        descendants: the tags of the runs below it there, of a check on tagged rows.
    """

    state: Any
    error: BaseException | None
    seconds: float
    overlap: Overlap
    descendants: tuple[str, ...] = ()


class Handed(NamedTuple):
    """A window as it was handed over.

    Attributes:
        name: its name.
        args: the values that checks may name.
        checks: its checks, by metric; empty when no baseline was read, because deltaspan was disabled there.
        metrics: the metrics of its checks.
        resumed: tag, attempt and span; None when no baseline was read.
        captured: when its first baseline was read, in seconds since the epoch.
        opening: what reading them took, in seconds.
    """

    name: str
    args: dict[str, Any]
    checks: dict[str, HandedCheck]
    metrics: frozenset[str]
    resumed: Resumed | None
    captured: float
    opening: float


def write_unopened(name: str, metrics: list[str], key: bytes | None) -> str:
    """Return the text of a window that read no baseline, because deltaspan is disabled in this process."""
    return seal({"name": name, "tag": None, "checks": [{"metric": metric} for metric in metrics]}, key)


def read(text: str | bytes | bytearray, key: bytes | None) -> Handed:
    """Return what `hand_over` wrote; arguments and errors as for `Window.from_json`."""
    content = unseal(text, key)
    try:
        return _read(content)
    except (Unreadable, LookupError, TypeError, ValueError, OverflowError, AttributeError):
        # It fits its digest, so somebody made it by hand. What is wrong with it may quote a state.
        raise DefinitionValueError(
            "this is not the text of a window: its digest fits, but to_json() never writes such a content"
        ) from None


# Writing ------------------------------------------------------------------------------------------------


def written_args(action: str, args: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the values that checks may name.

    Raises:
        DefinitionValueError: one of them has no exact text.
    """
    encoded = {}
    for name, value in args.items():
        if not isinstance(name, str):
            continue  # no check can name it
        try:
            encoded[name] = encode(value)
        except Unwritable as found:
            raise _refusal(
                action,
                f"its args value {name!r} is or holds {found}",
                "give a name or a key that finds it there",
            ) from None
    return encoded


def written_check(action: str, plan: CheckPlan, pre: Read) -> dict[str, Any]:
    """Return a check and its baseline.

    Raises:
        DefinitionValueError: the check's state must not or cannot leave the process.
    """
    metric = plan.metric
    if plan.redaction is not None:
        raise _refusal(
            action, f"check {metric!r} is redacted, and its baseline would be in the text", "verify it here"
        )
    if plan.hides_content:
        raise _refusal(
            action,
            f"check {metric!r} reads content, and its baseline would be in the text",
            "verify it here, or say .showing() on the check",
        )
    if plan.lock is not None:
        raise _refusal(
            action, f"check {metric!r} holds a lock, which belongs to this process", "verify it here"
        )
    written: dict[str, Any] = {"metric": metric, "read_us": round(pre.seconds * MICRO)}
    if pre.error is not None:
        written[_FAULT] = [_kind_of(pre.error), class_name(type(pre.error)), _text(pre.error)]
    elif pre.value is not UNREAD:
        try:
            written[_STATE] = encode(pre.value)
        except Unwritable as found:
            raise _refusal(
                action, f"the baseline of {metric!r} is or holds {found}", "let its probe return plain values"
            ) from None
    return written


def written_overlap(overlap: Overlap) -> dict[str, Any]:
    """Return which windows overlapped, to be added to their check."""
    if not overlap.run_count:
        return {}
    writers, runs = map(_written_rivals, (overlap.writers, overlap.runs))
    return {_OVERLAP: [writers, overlap.writer_count, runs, overlap.run_count]}


def _written_rivals(rivals: Sequence[Rival]) -> list[list[Any]]:
    return [[rival.action, rival.tag, round(rival.seconds * MICRO), rival.doubt] for rival in rivals]


def written_descendants(tags: Collection[str]) -> dict[str, Any]:
    """Return the tags of the runs below this one, to be added to a check that asks for them."""
    return {_DESCENDANTS: sorted(tags)} if tags else {}


def _refusal(action: str, why: str, instead: str) -> DefinitionValueError:
    return DefinitionValueError(f"window {action!r} cannot be handed over: {why}; {instead}")


def _kind_of(error: BaseException) -> str:
    return next((kind for kind, fault in _FAULTS.items() if issubclass(type(error), fault)), "raised")


def _text(error: BaseException) -> str:
    return safe_str(error, "").encode("utf-8", "replace").decode()


# Reading ------------------------------------------------------------------------------------------------


def _read(content: dict[str, Any]) -> Handed:
    name, checks, tag = content["name"], content["checks"], content["tag"]
    metrics = [check["metric"] for check in checks]
    if not isinstance(name, str) or not all(isinstance(metric, str) for metric in metrics):
        raise TypeError
    if tag is None:
        return Handed(name, {}, {}, frozenset(metrics), None, 0.0, 0.0)
    resumed = Resumed(_read_tag(tag), _whole(content["attempt"]), carrier_headers(content["trace"]))
    return Handed(
        name,
        {arg: decode(value) for arg, value in content["args"].items()},
        {check["metric"]: _read_check(check) for check in checks},
        frozenset(metrics),
        resumed,
        _whole(content["captured_us"]) / MICRO,
        _whole(content["opening_us"]) / MICRO,
    )


def _read_tag(tag: dict[str, Any]) -> CausalTag:
    own, root, parent = tag["id"], tag["root_id"], tag["parent_id"]
    if not (is_tag(own) and is_tag(root) and (parent is None or is_tag(parent))):
        raise ValueError
    return CausalTag(own, root, parent)


def _read_check(check: dict[str, Any]) -> HandedCheck:
    fault = check.get(_FAULT)
    return HandedCheck(
        decode(check[_STATE]) if _STATE in check else UNREAD,
        None if fault is None else _read_fault(*fault),
        _whole(check["read_us"]) / MICRO,
        _read_overlap(*check[_OVERLAP]) if _OVERLAP in check else ALONE,
        tuple(map(_checked_tag, check.get(_DESCENDANTS, ()))),
    )


def _read_overlap(writers: Any, writer_count: Any, runs: Any, run_count: Any) -> Overlap:
    return Overlap(_whole(writer_count), _whole(run_count), _read_rivals(writers), _read_rivals(runs))


def _read_rivals(rivals: Any) -> tuple[Rival, ...]:
    return tuple(
        Rival(str(action), str(tag), _whole(microseconds) / MICRO, str(doubt))
        for action, tag, microseconds, doubt in rivals
    )


def _checked_tag(tag: Any) -> str:
    if not is_tag(tag):
        raise ValueError
    return str(tag)


def _read_fault(kind: str, name: str, text: str) -> Exception:
    """Return an exception that says what one said there; of its class there is the name alone."""
    found = _FAULTS.get(kind)
    if found is None:
        found = type(name if name.isidentifier() else "Exception", (Exception,), {"__module__": "elsewhere"})
    return found(text)


def _whole(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise TypeError
    return number
