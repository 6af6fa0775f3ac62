"""Patterns and templates: the text that an author writes as a member.

Text that an author writes as a member becomes a Pattern here, once, when the check is made. A plain `str` in
an expectation is therefore always literal, because it was computed in the run.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from deltaspan._state.render import show
from deltaspan._state.snapshot import MAPPINGS, Record, class_of
from deltaspan._templates import fields_of, fill, parse_template
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations._globs import Glob, is_backwards, sets_of
from deltaspan.expectations._operands import Computed

_MARKS: Final = re.compile(r"[*?[]")
_TILDE: Final = re.compile(r"~(?![01])")
_FIELD: Final = "\0"
"""Replaces a field while a text is parsed. Its place is known, so a text may also contain the character."""

_MAX_MEMBER_CHARS: Final = 60

_collected: Final[ContextVar[list[Pattern] | None]] = ContextVar("deltaspan_patterns", default=None)
"""The patterns that the callables of a check have made so far in a run. None outside of their calls."""


@dataclass(frozen=True, slots=True, repr=False)
class Pattern:
    """A glob pattern over the path of an entry, made by `pattern(...)`.

    Attributes:
        text: the pattern as it was written, fields included.
        values: name → text of each field that is filled in. The text is matched literally.
        is_marked: whether it was written as `pattern(...)`, and not as plain text.
    """

    text: str
    values: tuple[tuple[str, str], ...] = ()
    is_marked: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise DefinitionTypeError(f"pattern takes text such as 'orders/*', not {show(self.text)}")
        text, places = self._with_placeholders(str, str)
        for start, characters in sets_of(text):
            if any(start < place < start + len(characters) for place in places):
                raise DefinitionValueError(
                    f"the pattern {self.text!r} has a field within brackets, where an argument would be read "
                    f"as a set of characters; write the field outside of the brackets"
                )
        if self.is_marked:
            _check_possible(self.text, text)
        collected = _collected.get()
        if collected is not None:
            collected.append(self)

    @property
    def open_fields(self) -> tuple[str, ...]:
        """The fields that have no value yet."""
        known = dict(self.values)
        return tuple(name for name in fields_of(self.text) if name not in known)

    @property
    def is_glob(self) -> bool:
        """True if the pattern may match several paths."""
        return any(_MARKS.search(literal) for literal, _ in parse_template(self.text))

    @property
    def literal(self) -> str:
        """The text as a value: a member of a collection, or a top-level key."""
        known = dict(self.values)
        return "".join(
            literal + ("" if name is None else known[name]) for literal, name in parse_template(self.text)
        )

    @property
    def path_text(self) -> str:
        """The text in the notation of a path.

        Each argument stays within one key.
        """
        known = {name: _escape_key(value) for name, value in self.values}
        return "".join(
            _TILDE.sub("~0", literal) + ("" if name is None else known[name])
            for literal, name in parse_template(self.text)
        )

    @property
    def crosses_keys(self) -> bool:
        """True if an argument contains a `/`.

        That `/` does not separate keys.
        """
        return any("/" in value for _, value in self.values)

    def of_text(self) -> Glob:
        """Return the glob that matches the text of a path."""
        return Glob(*self._with_placeholders(lambda literal: _TILDE.sub("~0", literal), _escape_key))

    def of_raw(self) -> Glob:
        """Return the glob that matches a path whose keys are not escaped."""
        return Glob(*self._with_placeholders(str, str))

    def with_values(self, values: Mapping[str, Any]) -> Pattern:
        """Return the pattern with fields filled in.

        Fields that have a value keep it.

        Raises:
            TypeError: a value has no plain text.
            ValueError: the text of a value is empty.
        """
        names = self.open_fields
        fresh = tuple((name, fill(f"{{{name}}}", values)) for name in names if name in values)
        return Pattern(self.text, (*self.values, *fresh), self.is_marked)

    def _with_placeholders(
        self, write: Callable[[str], str], write_value: Callable[[str], str]
    ) -> tuple[str, dict[int, str]]:
        """Return the text with placeholders for fields, and place → value."""
        known, text, places = dict(self.values), "", {}
        for literal, name in parse_template(self.text):
            text += write(literal)
            if name is not None:
                places[len(text)] = write_value(known.get(name, ""))
                text += _FIELD
        return text, places

    def __str__(self) -> str:
        """Return the text as a sentence shows it.

        In a glob, arguments are written in brackets.
        """
        if not self.is_glob and not self.open_fields:
            return (
                self.path_text
                if any("/" in literal for literal, _ in parse_template(self.text))
                else self.literal
            )
        known = {name: _MARKS.sub(r"[\g<0>]", _escape_key(value)) for name, value in self.values}
        return "".join(
            literal + ("" if name is None else known.get(name, f"{{{name}}}"))
            for literal, name in parse_template(self.text)
        )

    def __repr__(self) -> str:
        values = "".join(f", {name}={value!r}" for name, value in self.values)
        return f"pattern({self.text!r}{values})"


def pattern(text: str, /, **values: object) -> Pattern:
    """Mark text as a glob pattern, also where a callable computes it.

    Text that an author writes in `adding`, `removing`, `modifying`, `only` and `ignoring` is a pattern
    already. Text that a callable computes is literal, so that no argument and no result can widen a check.
    This function says that computed text is meant as a pattern. A callable must call it itself: a pattern
    that an argument or a result holds makes the check inconclusive. Of sets and sequences it matches members
    that are text, while `adding('a*')` adds the member `a*`.

    Args:
        text: the pattern; see `adding`. `{name}` stands for `values[name]`, or for the action's argument of
            that name. Both are matched literally, within one key. A literal brace is doubled.
        values: text, numbers, UUIDs or paths for fields. If a callable computes the pattern, every field
            needs a value here.

    Raises:
        DefinitionTypeError: the text is not a string.
        DefinitionValueError: nothing could match it, a field is not a plain name, or a value has no field.

    Example:
        >>> from deltaspan import change, expects, pattern
        >>> files = {}
        >>> def written(result):
        ...     return pattern("{folder}/**", folder=result)
        >>> @expects(change("files", lambda: files).only(written), on_failure="raise")
        ... def export(folder):
        ...     files[f"{folder}/a.csv"] = "1f"
        ...     return folder
        >>> export("out")
        'out'
        >>> pattern("orders/*/status")
        pattern('orders/*/status')
    """
    template = Pattern(text)
    stray = sorted(values.keys() - set(template.open_fields))
    if stray:
        raise DefinitionValueError(
            f"pattern({text!r}) has no field {{{stray[0]}}}; write the field into the text, or leave "
            f"{stray[0]}= out"
        )
    try:
        return template.with_values(values)
    except TypeError as error:
        raise DefinitionTypeError(f"pattern({text!r}): {error}") from None
    except ValueError as error:
        raise DefinitionValueError(f"pattern({text!r}): {error}") from None


class MemberTemplate:
    """A written member with fields, computed from the action's arguments.

    Args:
        member: a Pattern, a frozen value that contains text with fields, or text, which spells a path.
        names: the names of the fields, each once.
    """

    __slots__ = ("__signature__", "member")

    def __init__(self, member: object, names: tuple[str, ...]) -> None:
        self.member = member
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
        )

    def __call__(self, **values: object) -> list[object]:
        """Return the member alone, with its fields filled in."""
        if isinstance(self.member, str):
            return [_fill_path(self.member, values)]
        return [_fill_fields(self.member, lambda text: fill(text, values), values)]

    def __repr__(self) -> str:
        return show(self.member) if isinstance(self.member, str) else demand_text(self.member)


def parse_member(member: object) -> object:
    """Parse a written member.

    Text is a pattern. If it has fields, the result is computed by a MemberTemplate.

    Args:
        member: a frozen value, or a Pattern.

    Raises:
        DefinitionTypeError: a value contains a pattern.
        DefinitionValueError: a brace is left open, or a field is more than a plain name.
    """
    if isinstance(member, str) and type(member) is str:
        member = Pattern(member, is_marked=False)
    if isinstance(member, Pattern):
        return Computed(MemberTemplate(member, member.open_fields)) if member.open_fields else member
    names: dict[str, None] = {}

    def noted(text: str) -> str:
        names.update(dict.fromkeys(fields_of(text)))
        return text

    _fill_fields(member, noted, {})
    if names:
        return Computed(MemberTemplate(member, tuple(names)))
    return _fill_fields(member, lambda text: fill(text, {}), {})


def parse_key(key: object) -> object:
    """Parse a written key.

    Text spells a path. If it has fields, the result is computed by a MemberTemplate.

    Raises:
        DefinitionValueError: as for `written`.
    """
    if type(key) is not str:
        return parse_member(key)
    names = fields_of(key)
    return Computed(MemberTemplate(key, names)) if names else _fill_path(key, {})


def _fill_path(key: str, values: Mapping[str, Any]) -> str:
    """Return the text of a path with its fields filled in.

    Each argument stays within one key.
    """
    return "".join(
        literal + ("" if name is None else _escape_key(fill(f"{{{name}}}", values)))
        for literal, name in parse_template(key)
    )


def _fill_fields(member: Any, fill: Callable[[str], str], values: Mapping[str, Any]) -> Any:
    """Return a member with `fill` applied to the text in it, however deep."""
    kind = type(member)
    if kind is str:
        return fill(member)
    if kind is Pattern:
        return member.with_values(values)
    if kind is tuple:
        return tuple(_fill_fields(each, fill, values) for each in member)
    if kind is frozenset:
        return frozenset(_fill_fields(each, fill, values) for each in member)
    if kind in MAPPINGS:
        entries = {
            _fill_fields(key, fill, values): _fill_fields(item, fill, values) for key, item in member.items()
        }
        name = class_of(member)
        return MappingProxyType(entries) if name is None else Record(entries, name)
    return member


@contextmanager
def collect_patterns() -> Iterator[None]:
    """Collect the patterns that are made meanwhile, while a check computes its operands."""
    token = _collected.set([])
    try:
        yield
    finally:
        _collected.reset(token)


def is_own_pattern(member: Pattern) -> bool:
    """Return whether a callable of the check made a pattern.

    A pattern in an argument or in a result was made before. It would widen the check by what a tool chose.
    """
    return any(each is member for each in _collected.get() or ())


def is_glob(member: object) -> bool:
    """Return whether the member is a pattern that may match several paths."""
    return isinstance(member, Pattern) and member.is_glob


def has_pattern(value: object) -> bool:
    """Return whether a value that is not yet frozen contains a pattern.

    The pattern would be compared as a value.
    """
    if isinstance(value, Pattern):
        return True
    if isinstance(value, Mapping):
        return any(has_pattern(key) or has_pattern(item) for key, item in value.items())
    return isinstance(value, list | tuple | set | frozenset) and any(map(has_pattern, value))


def demand_text(member: object) -> str:
    """Return one member as a demand names it.

    Literal text that reads like a pattern is marked as literal.
    """
    if isinstance(member, Computed):
        template = member.function
        return demand_text(template.member) if isinstance(template, MemberTemplate) else "computed members"
    if isinstance(member, Pattern) and member.is_marked:
        return f"pattern({show(str(member), _MAX_MEMBER_CHARS)})"
    if isinstance(member, Pattern) and member.is_glob:
        return show(str(member), _MAX_MEMBER_CHARS)
    if not isinstance(member, Pattern | str):
        return show(member, _MAX_MEMBER_CHARS)
    text = str(member)
    return f"{'literal ' if _MARKS.search(text) else ''}{show(text, _MAX_MEMBER_CHARS)}"


def _escape_key(text: str) -> str:
    return text.replace("~", "~0").replace("/", "~1")


def _check_possible(pattern_text: str, text: str) -> None:
    fault = None
    if text.startswith("/"):
        fault = "begins with '/', and no path does"
    elif text.endswith("/"):
        fault = "ends with '/', and no path does; write '/**' for all below a key"
    elif "//" in text:
        fault = "has '//', and no key is empty"
    elif not text:
        fault = "is empty, and no path is"
    for _, characters in sets_of(text):
        if characters[1:-1] in ("", "!"):
            fault = f"has {characters}, brackets around no character"
        elif not set(characters[1:-1]) - set("/-"):
            fault = f"has {characters}, and '/' stands between keys, where brackets do not match it"
        elif is_backwards(characters):
            fault = f"has {characters}, a range that is written backwards"
    if fault is not None:
        raise DefinitionValueError(f"pattern({pattern_text!r}) cannot match anything: it {fault}")
