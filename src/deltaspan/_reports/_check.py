"""The report of one check."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from deltaspan._guard import describe
from deltaspan._interrupts import let_through
from deltaspan._reports._origin import origin_of
from deltaspan._reports._serialized import Written, thawed
from deltaspan._state.diff import Delta, TaggedDelta
from deltaspan._state.render import plain, show
from deltaspan._state.snapshot import freeze
from deltaspan._verdicts import UNREAD, Explained, Timing, Verdict
from deltaspan.typing import Attribution, Origin, Outcome, Reason

__all__ = ["CheckReport"]

_MAX_WHY: Final = 500
"""The most characters of an explanation in a `repr`."""


class _CheckFields(NamedTuple):
    metric: str
    verdict: Verdict
    attribution: Attribution
    causal_tag: str | None
    pre: Any
    post: Any
    delta: Delta | None
    expectation: Explained
    probe_seconds: float = 0.0
    timing: Timing | None = None


class CheckReport(_CheckFields):
    """What one check came to; read-only.

    Attributes:
        metric: the name of what was measured.
        verdict: outcome, reason and note as the judge gave them; see `outcome`, `reason`, `explanation`.
        attribution: why the delta may be credited to the action: `causal_tag`, `exclusive`, `scoped` or
            `window`.
        causal_tag: the tag of the run, canonical UUID text; None when it was skipped.
        pre: the frozen baseline, or UNREAD; see `pre_state`.
        post: the frozen state after the action, or UNREAD; see `post_state`.
        delta: the computed difference; None when a state is missing. Of a collection it has `added`,
            `removed` and, for mappings, `modified`.
        expectation: what the delta had to satisfy, computed operands filled in.
        probe_seconds: what the reads of the probe cost together, in seconds.
        timing: what it took beyond two reads; None when it took no more.
    """

    __slots__ = ()

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
        """Why the check is inconclusive, or None."""
        return self.verdict.reason

    @property
    def error(self) -> BaseException | None:
        """The exception that left the check without a verdict, without its traceback, or None.

        An exception that the action raised is not kept: its caller has it.
        """
        fault = self.verdict.fault
        return None if fault is None else fault.error

    @property
    def passed(self) -> bool:
        """True for `pass` alone: an honest verdict is never a pass by default."""
        return self.verdict.outcome == "pass"

    @property
    def has_pre_state(self) -> bool:
        """Whether the baseline was read; a state may itself be None."""
        return self.pre is not UNREAD

    @property
    def has_post_state(self) -> bool:
        """Whether the state after the action was read."""
        return self.post is not UNREAD

    @property
    def has_delta(self) -> bool:
        """Whether both states were read and compared."""
        return self.delta is not None

    @property
    def pre_state(self) -> Any:
        """The baseline, frozen; None when it was never read."""
        return None if self.pre is UNREAD else self.pre

    @property
    def post_state(self) -> Any:
        """The state after the action, frozen; None when it was never read."""
        return None if self.post is UNREAD else self.post

    @property
    def expected_delta(self) -> Any:
        """The value that `by` demands, else the demand in words."""
        return self.expectation.expected

    @property
    def actual_delta(self) -> Any:
        """The computed difference; None when a state is missing."""
        return None if self.delta is None else self.delta.value

    @property
    def others(self) -> Any:
        """What others did, by the tags of rows, told as in `actual_delta`; None without tagged rows."""
        return None if self._others_and_untagged is None else self._others_and_untagged[0]

    @property
    def untagged(self) -> Any:
        """What was done without a tag, told as in `actual_delta`; None without tagged rows."""
        return None if self._others_and_untagged is None else self._others_and_untagged[1]

    @property
    def _others_and_untagged(self) -> tuple[Any, Any] | None:
        return None if self.delta is None else self.delta.others_and_untagged

    @property
    def origin(self) -> Origin | None:
        """Who is held to have made the change: `this_action`, `another_action` or `unknown`.

        None when no change was seen. `attribution` says how well it is known.
        """
        return origin_of(self.delta, self.verdict, self.attribution)

    @property
    def baseline_age_ms(self) -> float | None:
        """How old a baseline was that another process captured, in milliseconds; else None."""
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
                self.metric, self.delta, self.pre, self.post, holds=verdict.outcome == "pass"
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
            f"pre_state: {show(self.pre)}",
            f"post_state: {show(self.post)}",
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

    def __reduce__(self) -> tuple[Any, ...]:
        verdict = Verdict(self.outcome, self.reason, self.verdict.note)
        changed = self.delta is not None and self.delta.changed
        apart = thawed(self._others_and_untagged)
        values = (thawed(self.expected_delta), thawed(self.actual_delta))
        written = Written(*values, self.explanation, changed, apart, self.origin)
        identity = (self.metric, verdict, self.attribution, self.causal_tag)
        states = (thawed(self.pre), thawed(self.post))
        delta = None if self.delta is None else written
        return _restored, (*identity, *states, delta, written, self.probe_seconds, self.timing)


def _restored(
    metric: str, verdict: Verdict, attribution: Attribution, tag: str | None, pre: Any, post: Any, *rest: Any
) -> CheckReport:
    pre_state, post_state = (state if state is UNREAD else freeze(state) for state in (pre, post))
    return CheckReport(metric, verdict, attribution, tag, pre_state, post_state, *rest)


def _bare(value: object) -> str:
    # A demand in words stands in the signal as words, not as quoted text.
    return value if isinstance(value, str) else show(value)
