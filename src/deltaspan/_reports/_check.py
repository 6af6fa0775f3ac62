"""The report of one check."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from deltaspan._guard import describe
from deltaspan._interrupts import let_through
from deltaspan._reports._origin import origin_of
from deltaspan._reports._serialized import SerializedCheck, to_plain_containers
from deltaspan._state.diff import Delta, TaggedDelta, equal
from deltaspan._state.render import plain, show
from deltaspan._state.snapshot import freeze
from deltaspan._verdicts import UNREAD, Explained, Timing, Verdict
from deltaspan.typing import Attribution, Origin, Outcome, Reason

_MAX_WHY: Final = 500
"""The most characters of an explanation in a `repr`."""


class _Fields:
    """The fields of a report that is not frozen yet."""

    __slots__ = (
        "attribution",
        "causal_tag",
        "delta",
        "expectation",
        "has_post_state",
        "has_pre_state",
        "metric",
        "post_state",
        "pre_state",
        "probe_seconds",
        "timing",
        "verdict",
    )


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CheckReport(_Fields):
    """The result of one check in one run.

    It is read-only and can be hashed, copied and pickled. Two reports are equal if they show the same
    values. A pickled report keeps its values and its explanation. It loses `error`.

    Attributes:
        metric: the name of the measured state.
        verdict: outcome, reason and note. See `outcome`, `reason` and `explanation`.
        attribution: why the delta may be credited to the action: `causal_tag`, `exclusive`, `scoped` or
            `window`.
        causal_tag: the tag of the run, canonical UUID text; None if it was skipped.
        pre_state: the baseline, frozen; None if it was not read.
        post_state: the state after the action, frozen; None if it was not read.
        delta: the computed difference; None if a state is missing. The delta of a collection has `added`,
            `removed` and, for mappings, `modified`.
        expectation: the demand on the delta, with computed operands filled in.
        probe_seconds: the time that all reads of the probe took together, in seconds.
        timing: attempts and waiting times; None if the check made two reads and did not wait.
        has_pre_state: whether the baseline was read. A state may itself be None.
        has_post_state: whether the state after the action was read.
    """

    __slots__ = ()

    metric: str
    verdict: Verdict
    attribution: Attribution
    causal_tag: str | None
    pre_state: Any
    post_state: Any
    delta: Delta | None
    expectation: Explained
    probe_seconds: float
    timing: Timing | None
    has_pre_state: bool
    has_post_state: bool

    def __new__(
        cls,
        metric: str,
        verdict: Verdict,
        attribution: Attribution,
        causal_tag: str | None,
        pre_state: Any,
        post_state: Any,
        delta: Delta | None,
        expectation: Explained,
        probe_seconds: float = 0.0,
        timing: Timing | None = None,
        has_pre_state: bool = True,  # noqa: FBT001, FBT002  # the fields, in their order
        has_post_state: bool = True,  # noqa: FBT001, FBT002
    ) -> CheckReport:
        # A frozen class sets each field slowly, and every run makes one. So the fields are set first.
        report: Any = _Fields()
        has_pre_state = has_pre_state and pre_state is not UNREAD
        has_post_state = has_post_state and post_state is not UNREAD
        report.metric = metric
        report.verdict = verdict
        report.attribution = attribution
        report.causal_tag = causal_tag
        report.pre_state = pre_state if has_pre_state else None
        report.post_state = post_state if has_post_state else None
        report.delta = delta
        report.expectation = expectation
        report.probe_seconds = probe_seconds
        report.timing = timing
        report.has_pre_state = has_pre_state
        report.has_post_state = has_post_state
        report.__class__ = cls
        return report  # type: ignore[no-any-return]  # of this class by now

    @property
    def check(self) -> str:
        """The check's name: `{metric}_delta`."""
        return f"{self.metric}_delta"

    @property
    def outcome(self) -> Outcome:
        """`pass`, `fail`, `inconclusive`, `observed` or `skipped`."""
        return self.verdict.outcome

    @property
    def reason(self) -> Reason | None:
        """The reason why the check is inconclusive, or None."""
        return self.verdict.reason

    @property
    def error(self) -> BaseException | None:
        """The exception that left the check without a verdict, without its traceback, or None.

        An exception that the action raised is not kept: its caller has it.
        """
        raised = self.verdict.raised
        return None if raised is None else raised.error

    @property
    def passed(self) -> bool:
        """True for `pass` alone: an honest verdict is never a pass by default."""
        return self.verdict.outcome == "pass"

    @property
    def has_delta(self) -> bool:
        """True if both states were read and compared."""
        return self.delta is not None

    @property
    def expected_delta(self) -> Any:
        """The value that `by` demands, else the demand in words."""
        return self.expectation.expected

    @property
    def actual_delta(self) -> Any:
        """The computed difference, or None if a state is missing."""
        return None if self.delta is None else self.delta.value

    @property
    def others(self) -> Any:
        """The changes by other runs, in the form of `actual_delta`.

        None if the states are not of tagged rows.
        """
        return None if self._others_and_untagged is None else self._others_and_untagged[0]

    @property
    def untagged(self) -> Any:
        """The changes without a tag, in the form of `actual_delta`.

        None if the states are not of tagged rows.
        """
        return None if self._others_and_untagged is None else self._others_and_untagged[1]

    @property
    def _others_and_untagged(self) -> tuple[Any, Any] | None:
        return None if self.delta is None else self.delta.others_and_untagged

    @property
    def origin(self) -> Origin | None:
        """The origin of the change: `this_action`, `another_action` or `unknown`.

        None when no change was seen. `attribution` says how well it is known.
        """
        return origin_of(self.delta, self.verdict, self.attribution)

    @property
    def baseline_age_ms(self) -> float | None:
        """The age of a baseline of another process, in milliseconds, or None."""
        seconds = None if self.timing is None else self.timing.baseline_age_seconds
        return None if seconds is None else seconds * 1000

    @property
    def explanation(self) -> str:
        """One sentence: what was expected, what happened, and both states if they are short."""
        verdict = self.verdict
        if verdict.note is not None or self.delta is None:
            return f"{self.metric}: {verdict.note or verdict.outcome}"
        try:
            sentence = self.expectation.explain(
                self.metric, self.delta, self.pre_state, self.post_state, holds=verdict.outcome == "pass"
            )
            if type(self.delta) is not TaggedDelta or self.expectation.keeps_others:
                return sentence
            return f"{sentence}; {self.delta.tally}"
        except BaseException as error:  # a member of a state has methods of its own
            let_through(error)
            return f"{self.metric}: {verdict.outcome}; its states could not be described: {describe(error)}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, beginning with the keys of the pattern's own report."""
        age = {} if self.baseline_age_ms is None else {"baseline_age_ms": self.baseline_age_ms}
        return {
            "check": self.check,
            "metric": self.metric,
            "passed": self.passed,
            "expected_delta": plain(self.expected_delta),
            "actual_delta": plain(self.actual_delta),
            "pre_state": plain(self.pre_state),
            "post_state": plain(self.post_state),
            "outcome": self.outcome,
            "reason": self.reason,
            "attribution": self.attribution,
            "origin": self.origin,
            "causal_tag": self.causal_tag,
            "others": plain(self.others),
            "untagged": plain(self.untagged),
            "explanation": self.explanation,
            **age,
        }

    def __str__(self) -> str:
        lines = [
            f"check: {self.check}",
            f"metric: {self.metric}",
            f"passed: {'true' if self.passed else 'false'}",
            f"pre_state: {show(self.pre_state if self.has_pre_state else UNREAD)}",
            f"post_state: {show(self.post_state if self.has_post_state else UNREAD)}",
            f"expected_delta: {_bare(self.expected_delta)}",
            f"actual_delta: {show(UNREAD) if self.delta is None else _bare(self.actual_delta)}",
            f"outcome: {self.outcome}{f' ({self.reason})' if self.reason else ''}",
            f"attribution: {self.attribution}",
        ]
        if self.origin is not None:
            lines.append(f"origin: {self.origin}")
        if self._others_and_untagged is not None:
            lines += [f"others: {_bare(self.others)}", f"untagged: {_bare(self.untagged)}"]
        lines.append(f"explanation: {self.explanation}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        # A test runner shows nothing else of a report, so it says why there is no pass.
        verdict = self.verdict
        text = f"{self.metric}: {verdict.outcome}{f' ({verdict.reason})' if verdict.reason else ''}"
        if verdict.outcome in ("fail", "inconclusive"):
            why = " ".join((verdict.note or self.explanation).splitlines())
            text += f", {why if len(why) <= _MAX_WHY else f'{why[:_MAX_WHY]}…'}"
        return f"<CheckReport {text}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CheckReport):
            return NotImplemented
        return self is other or equal(self._compared_values(), other._compared_values())

    def __hash__(self) -> int:
        return hash((self.metric, self.outcome, self.reason, self.attribution, self.causal_tag))

    def _compared_values(self) -> tuple[Any, ...]:
        """Return the values that a report shows, which a pickled report keeps."""
        return (
            (self.metric, self.outcome, self.reason, self.attribution, self.origin, self.causal_tag),
            (self.pre_state, self.post_state, self.has_pre_state, self.has_post_state),
            (self.expected_delta, self.actual_delta, self.others, self.untagged, self.has_delta),
            (self.explanation, self.probe_seconds, self.timing),
        )

    def __copy__(self) -> CheckReport:
        return self

    def __deepcopy__(self, memo: object) -> CheckReport:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        verdict = Verdict(self.outcome, self.reason, self.verdict.note)
        changed = self.delta is not None and self.delta.changed
        values = (self.expected_delta, self.actual_delta, self._others_and_untagged)
        expected, actual, parts = map(to_plain_containers, values)
        serialized = SerializedCheck(expected, actual, self.explanation, changed, parts, self.origin)
        states = (to_plain_containers(self.pre_state), to_plain_containers(self.post_state))
        identity = (self.metric, verdict, self.attribution, self.causal_tag)
        cost = (self.probe_seconds, self.timing, self.has_pre_state, self.has_post_state)
        return _restore_check, (identity, states, self.has_delta, serialized, cost)


def _restore_check(
    identity: tuple[str, Verdict, Attribution, str | None],
    states: tuple[Any, Any],
    has_delta: bool,  # noqa: FBT001  # pickle calls it by position
    serialized: SerializedCheck,
    cost: tuple[float, Timing | None, bool, bool],
) -> CheckReport:
    pre_state, post_state = map(freeze, states)
    parts: Any = freeze(serialized.others_and_untagged)
    serialized = replace(
        serialized,
        expected=freeze(serialized.expected),
        value=freeze(serialized.value),
        others_and_untagged=parts,
    )
    delta = serialized if has_delta else None
    return CheckReport(*identity, pre_state, post_state, delta, serialized, *cost)


def _bare(value: object) -> str:
    # A demand in words stands in the signal as words, not as quoted text.
    return value if isinstance(value, str) else show(value)
