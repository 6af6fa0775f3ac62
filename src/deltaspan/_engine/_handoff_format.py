"""What is written of a window that is handed over, and how it is read back; the layout of the text.

The text may come from anywhere. Whatever is read is checked, and nothing in it is evaluated or imported.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from deltaspan._attribution._contention import ALONE, Overlap, Rival
from deltaspan._state.codec import Unreadable, Unwritable, decode, encode
from deltaspan._state.snapshot import Unfreezable
from deltaspan._guard import class_name, safe_str
from deltaspan.causal_tag._headers import carried
from deltaspan._engine._plan import CheckPlan
from deltaspan._engine._reads import Read
from deltaspan._verdicts import UNREAD, ProbeTimeout
from deltaspan._engine._handoff_format_part1 import seal, unseal
from deltaspan._telemetry import Resumed
from deltaspan.causal_tag import CausalTag, is_tag
from deltaspan.exceptions import DefinitionValueError

__all__ = [
    "MICRO",
    "Handed",
    "read",
    "write_unopened",
    "written_args",
    "written_check",
    "written_descendants",
    "written_overlap",
]

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
    resumed = Resumed(_read_tag(tag), _whole(content["attempt"]), carried(content["trace"]))
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
    return CausalTag(own, root, parent, None, {})


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
