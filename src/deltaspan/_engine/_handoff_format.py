"""The document of a window that is handed over, signed or with a digest.

The text may come from anywhere. Every field is validated, and nothing is evaluated or imported.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from deltaspan._attribution import ALONE, Overlap, Rival
from deltaspan._engine._baselines import Baseline
from deltaspan._engine._plan import CheckPlan
from deltaspan._guard import class_name, safe_str
from deltaspan._state import Unreadable, Unwritable, canonical, decode, encode
from deltaspan._state.snapshot import Unfreezable
from deltaspan._telemetry import ResumedRun
from deltaspan._verdicts import UNREAD, ProbeTimeout
from deltaspan.causal_tag import CausalTag, carrier_headers, is_tag
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError

FORMAT: Final = 1
"""The version of the layout of the document. A document of another version is rejected."""

_KIND: Final = "deltaspan.window"
_DIGEST: Final = "sha256"
_SIGNATURE: Final = "hmac-sha256"
_NOT_A_WINDOW: Final = "this is not the text of a window; pass on what to_json() returned, as it is"


def validate_key(key: object) -> bytes | None:
    """Validate a key, and return it as bytes. Errors never quote it.

    Raises:
        DefinitionTypeError: it is neither bytes nor a string.
        DefinitionValueError: it is empty.
    """
    if key is None:
        return None
    if not isinstance(key, bytes | str):
        raise DefinitionTypeError(f"key must be bytes or text, not {type(key).__name__}")
    if not key:
        raise DefinitionValueError("key is empty; give the secret itself, or leave key out")
    return key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key


def sign(content: dict[str, Any], key: bytes | None) -> str:
    """Sign a document, and return its text.

    Args:
        content: the fields, as values that `json.dumps` takes.
        key: signs it. Without a key, a digest is added.
    """
    document = {"kind": _KIND, "format": FORMAT, "window": content}
    return canonical({**document, "seal": _signature_of(document, key)})


def verify_and_load(text: str | bytes | bytearray, key: bytes | None) -> dict[str, Any]:
    """Verify the signature of a text that `sign` returned, and return its content.

    Args:
        text: the text, which may come from anywhere.
        key: the key that it must be signed with. None if it must not be signed.

    Raises:
        DefinitionTypeError: it is neither a string nor bytes.
        DefinitionValueError: it is malformed, of another format, corrupted or forged, or just one side has a
            key.
    """
    if not isinstance(text, str | bytes | bytearray):
        raise DefinitionTypeError(f"a window is handed over as text, not as {type(text).__name__}")
    document = _parse(text)
    if type(document) is not dict or document.get("kind") != _KIND:
        raise DefinitionValueError(_NOT_A_WINDOW)
    version = document.get("format")
    if type(version) is not int or version != FORMAT:
        raise DefinitionValueError(
            f"this window was written in format {version!r:.20}, and this version of deltaspan reads format "
            f"{FORMAT}; use the same version on both sides"
        )
    signature, content = document.pop("seal", None), document.get("window")
    if type(signature) is not str or type(content) is not dict:
        raise DefinitionValueError(_NOT_A_WINDOW)
    _verify(signature, document, key)
    return content


def _parse(text: str | bytes | bytearray) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        # Not `from` the error, which quotes the text: it may hold states.
        raise DefinitionValueError(f"{_NOT_A_WINDOW} (it is not JSON, or was cut)") from None


def _verify(signature: str, document: dict[str, Any], key: bytes | None) -> None:
    method = signature.partition(":")[0]
    if method not in (_DIGEST, _SIGNATURE):
        raise DefinitionValueError(_NOT_A_WINDOW)
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
        expected = _signature_of(document, key)
    except (ValueError, RecursionError):
        raise DefinitionValueError(_NOT_A_WINDOW) from None
    if hmac.compare_digest(expected.encode(), signature.encode("utf-8", "surrogatepass")):
        return
    if key is None:
        raise DefinitionValueError("the window document is corrupt: its digest does not match its content")
    raise DefinitionValueError(
        "this window was changed on its way, or was signed with another key: its signature does not fit its "
        "content"
    )


def _signature_of(document: dict[str, Any], key: bytes | None) -> str:
    data = canonical(document).encode("ascii")
    if key is None:
        return f"{_DIGEST}:{hashlib.sha256(data).hexdigest()}"
    return f"{_SIGNATURE}:{hmac.new(key, data, hashlib.sha256).hexdigest()}"


MICROSECONDS: Final = 1_000_000
"""Times are whole microseconds, because other tools may write a float differently."""

_STATE: Final = "state"
_FAULT: Final = "fault"
_OVERLAP: Final = "overlap"
_DESCENDANTS: Final = "descendants"
_ERROR_KINDS: Final[dict[str, type[Exception]]] = {"incomparable": Unfreezable, "timeout": ProbeTimeout}


class Handoff(NamedTuple):
    """A window that was handed over.

    Attributes:
        name: its name.
        args: the values that checks may name.
        baselines: its baselines, by metric. Empty if none was read, because deltaspan was disabled there.
        metrics: the metrics of its checks.
        resumed: tag, attempt and span. None if no baseline was read.
        captured_at: when its first baseline was read, in seconds since the epoch.
        opening_seconds: what reading them took.
    """

    name: str
    args: dict[str, Any]
    baselines: dict[str, Baseline]
    metrics: frozenset[str]
    resumed: ResumedRun | None
    captured_at: float
    opening_seconds: float


def unopened_document(name: str, metrics: list[str], key: bytes | None) -> str:
    """Return the document of a window that read no baseline, because deltaspan is disabled."""
    return sign({"name": name, "tag": None, "checks": [{"metric": metric} for metric in metrics]}, key)


def load(text: str | bytes | bytearray, key: bytes | None) -> Handoff:
    """Load a document. Arguments and errors are those of `Window.from_json`."""
    content = verify_and_load(text, key)
    try:
        return _read(content)
    except (Unreadable, LookupError, TypeError, ValueError, OverflowError, AttributeError):
        # Its digest is right, so it was made by hand. The error is not quoted, because it may hold a state.
        raise DefinitionValueError(
            "this is not the text of a window: its digest fits, but to_json() never writes such a content"
        ) from None


# Writing ------------------------------------------------------------------------------------------------


def args_document(action: str, args: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the document of the values that checks may name.

    Raises:
        DefinitionValueError: one of them has no exact text.
    """
    encoded = {}
    for name, value in args.items():
        if not isinstance(name, str):
            continue  # no check can name it
        try:
            encoded[name] = encode(value)
        except Unwritable as problem:
            raise _not_writable(
                action,
                f"its args value {name!r} is or holds {problem}",
                "give a name or a key that finds it there",
            ) from None
    return encoded


def check_document(action: str, plan: CheckPlan, baseline: Baseline) -> dict[str, Any]:
    """Return the document of a check and its baseline.

    Raises:
        DefinitionValueError: the check's state must not or cannot leave the process.
    """
    metric = plan.metric
    if plan.modifiers.redaction is not None:
        raise _not_writable(
            action, f"check {metric!r} is redacted, and its baseline would be in the text", "verify it here"
        )
    if plan.hides_content:
        raise _not_writable(
            action,
            f"check {metric!r} reads content, and its baseline would be in the text",
            "verify it here, or say .showing() on the check",
        )
    if plan.lock is not None:
        raise _not_writable(
            action, f"check {metric!r} holds a lock, which belongs to this process", "verify it here"
        )
    document: dict[str, Any] = {"metric": metric, "read_us": round(baseline.seconds * MICROSECONDS)}
    if baseline.error is not None:
        error = baseline.error
        document[_FAULT] = [_error_kind(error), class_name(type(error)), _text(error)]
    elif baseline.state is not UNREAD:
        try:
            document[_STATE] = encode(baseline.state)
        except Unwritable as problem:
            raise _not_writable(
                action,
                f"the baseline of {metric!r} is or holds {problem}",
                "let its probe return plain values",
            ) from None
    return document


def overlap_document(overlap: Overlap) -> dict[str, Any]:
    """Return the fields with the windows that overlapped."""
    if not overlap.run_count:
        return {}
    writers, runs = map(_rivals_document, (overlap.writers, overlap.runs))
    return {_OVERLAP: [writers, overlap.writer_count, runs, overlap.run_count]}


def _rivals_document(rivals: Sequence[Rival]) -> list[list[Any]]:
    return [[rival.action, rival.tag, round(rival.seconds * MICROSECONDS), rival.doubt] for rival in rivals]


def descendants_document(tags: Collection[str]) -> dict[str, Any]:
    """Return the fields with the descendants of a run."""
    return {_DESCENDANTS: sorted(tags)} if tags else {}


def _not_writable(action: str, why: str, instead: str) -> DefinitionValueError:
    return DefinitionValueError(f"window {action!r} cannot be handed over: {why}; {instead}")


def _error_kind(error: BaseException) -> str:
    return next((kind for kind, fault in _ERROR_KINDS.items() if issubclass(type(error), fault)), "raised")


def _text(error: BaseException) -> str:
    return safe_str(error, "").encode("utf-8", "replace").decode()


# Reading ------------------------------------------------------------------------------------------------


def _read(content: dict[str, Any]) -> Handoff:
    name, checks, tag = content["name"], content["checks"], content["tag"]
    metrics = [check["metric"] for check in checks]
    if not isinstance(name, str) or not all(isinstance(metric, str) for metric in metrics):
        raise TypeError
    if tag is None:
        return Handoff(name, {}, {}, frozenset(metrics), None, 0.0, 0.0)
    resumed = ResumedRun(_read_tag(tag), _read_count(content["attempt"]), carrier_headers(content["trace"]))
    return Handoff(
        name,
        {arg: decode(value) for arg, value in content["args"].items()},
        {check["metric"]: _read_baseline(check) for check in checks},
        frozenset(metrics),
        resumed,
        _read_count(content["captured_us"]) / MICROSECONDS,
        _read_count(content["opening_us"]) / MICROSECONDS,
    )


def _read_tag(tag: dict[str, Any]) -> CausalTag:
    tag_id, root, parent = tag["id"], tag["root_id"], tag["parent_id"]
    if not (is_tag(tag_id) and is_tag(root) and (parent is None or is_tag(parent))):
        raise ValueError
    return CausalTag(tag_id, root, parent)


def _read_baseline(check: dict[str, Any]) -> Baseline:
    fault = check.get(_FAULT)
    return Baseline(
        decode(check[_STATE]) if _STATE in check else UNREAD,
        None if fault is None else _read_error(*fault),
        _read_count(check["read_us"]) / MICROSECONDS,
        _read_overlap(*check[_OVERLAP]) if _OVERLAP in check else ALONE,
        tuple(map(_read_tag_id, check.get(_DESCENDANTS, ()))),
    )


def _read_overlap(writers: Any, writer_count: Any, runs: Any, run_count: Any) -> Overlap:
    return Overlap(
        _read_count(writer_count), _read_count(run_count), _read_rivals(writers), _read_rivals(runs)
    )


def _read_rivals(rivals: Any) -> tuple[Rival, ...]:
    return tuple(
        Rival(str(action), str(tag), _read_count(microseconds) / MICROSECONDS, str(doubt))
        for action, tag, microseconds, doubt in rivals
    )


def _read_tag_id(tag: Any) -> str:
    if not is_tag(tag):
        raise ValueError
    return str(tag)


def _read_error(kind: str, name: str, text: str) -> Exception:
    """Return an exception with the class name and the text of the original one."""
    error = _ERROR_KINDS.get(kind)
    if error is None:
        error = type(name if name.isidentifier() else "Exception", (Exception,), {"__module__": "elsewhere"})
    return error(text)


def _read_count(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise TypeError
    return number
