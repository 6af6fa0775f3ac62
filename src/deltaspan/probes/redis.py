"""Read Redis (and what speaks its protocol, such as Valkey): how many keys, which, and what they hold.

    >>> from redis import Redis
    >>> from deltaspan import change, unchanged
    >>> from deltaspan.probes import redis
    >>> client = Redis("cache.internal")
    >>> checks = (
    ...     change("carts", redis.count(client, "cart:{tenant}:*")).by(1),
    ...     change("jobs", redis.length(client, "jobs")).by(1),
    ...     unchanged("sessions", redis.values(client, "session:{tenant}:*")),
    ... )

`client` is a `redis.Redis`, or for async actions a `redis.asyncio.Redis`; each read takes a connection of its
pool. Of a cluster it reads the node that it is connected to; a cluster's own client is refused.

In a pattern and in a key, `{name}` stands for the action's argument of that name, or `{causal_tag}`, which
scopes the check. In a pattern it is matched as it is, `*` and all. In brackets, behind a backslash and next
to `*` it is refused. A brace itself, as in the hash tags of a cluster, is written twice:
`cart:{{{tenant}}}:*`. Names that are not UTF-8 hold surrogates, as those of `os.fsdecode` do, whatever the
client decodes.

From the cheapest: `size` and `length` cost the server the same however much there is. `count` and `keys` walk
over *all* keys of the database with SCAN, a thousand at a time, so that the server is never held up: one
round trip for each thousand. `values` adds three for each thousand that match.

SCAN is no snapshot. What is there throughout the read is told, once; what others add, remove or rename
meanwhile may or may not be. A key that expires is removed, whoever wrote it, and reading counts as an access
for the eviction of keys. Read where the action writes: a replica lags behind.

What cannot be read is inconclusive, in the server's words: no connection, a wrong password, a command that
the user may not run (`scan`, `dbsize`, `type` and the reading commands of each type), a key of another type.
So are more than a million keys, or in `values` more than 100 000 values.

The module needs redis-py: `pip install 'deltaspan[redis]'`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar, overload

from deltaspan._templates import fields_of, filled, is_of_one_length, places_of
from deltaspan.checks import source_text
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._base.regexes import is_literal_place_of_glob
from deltaspan.probes._base.requests import Steps, probe_of

try:
    from redis import Redis
    from redis.asyncio import Redis as AsyncRedis
    from redis.asyncio.client import Pipeline as AsyncPipeline
    from redis.client import Pipeline
except ImportError:
    raise ImportError("deltaspan.probes.redis needs redis-py: pip install 'deltaspan[redis]'") from None

from deltaspan.probes._redis._values import SIZES, RedisReadError, asked, content, names, text

__all__ = ["count", "keys", "length", "size", "values"]

S = TypeVar("S")
_GLOB: Final = re.compile(r"([*?\[\]\\^-])")


@overload
def size(client: Redis) -> StateProbe[int]: ...
@overload
def size(client: AsyncRedis) -> AsyncStateProbe[int]: ...
def size(client: Redis | AsyncRedis) -> StateProbe[int] | AsyncStateProbe[int]:
    """Count all keys of the database, at no cost (DBSIZE).

    Those that have expired count until the server has removed them.

    Args:
        client: see the module.

    Raises:
        DefinitionTypeError: the client is none of the two.

    Example:
        >>> from deltaspan import unchanged
        >>> unchanged("keys", size(Redis()))
        unchanged('keys', redis.size(client))
    """

    def steps() -> Steps[int]:
        return int((yield asked(client, "DBSIZE")))

    return _probe("size", client, steps)


@overload
def count(client: Redis, pattern: str) -> StateProbe[int]: ...
@overload
def count(client: AsyncRedis, pattern: str) -> AsyncStateProbe[int]: ...
def count(client: Redis | AsyncRedis, pattern: str) -> StateProbe[int] | AsyncStateProbe[int]:
    r"""Count the keys that match a pattern.

    Args:
        client: see the module.
        pattern: as of SCAN and KEYS: `*`, `?`, `[abc]`, with `\` before one that is meant as it is.

    Raises:
        DefinitionTypeError: the client is none of the two, or the pattern is no text.
        DefinitionValueError: a field is no plain name, or stands where it cannot be matched as it is.

    Example:
        >>> from deltaspan import change
        >>> change("carts", count(Redis(), "cart:{tenant}:*")).by(1)
        change('carts', redis.count(client, 'cart:{tenant}:*')).by(1)
    """

    def steps(pattern: str) -> Steps[int]:
        return len((yield from names(client, pattern)))

    return _probe("count", client, steps, pattern, escape=_escaped)


@overload
def keys(client: Redis, pattern: str) -> StateProbe[set[str]]: ...
@overload
def keys(client: AsyncRedis, pattern: str) -> AsyncStateProbe[set[str]]: ...
def keys(client: Redis | AsyncRedis, pattern: str) -> StateProbe[set[str]] | AsyncStateProbe[set[str]]:
    """Read the names of the keys that match a pattern; what they hold may change unseen.

    Args:
        client: see the module.
        pattern: as for `count`.

    Raises:
        DefinitionTypeError: as for `count`.
        DefinitionValueError: likewise.

    Example:
        >>> from deltaspan import change
        >>> change("carts", keys(Redis(), "cart:*")).adding(count=1)
        change('carts', redis.keys(client, 'cart:*')).adding(count=1)
    """

    def steps(pattern: str) -> Steps[set[str]]:
        return {text(name) for name in (yield from names(client, pattern))}

    return _probe("keys", client, steps, pattern, escape=_escaped)


@overload
def values(client: Redis, pattern: str) -> StateProbe[dict[str, Any]]: ...
@overload
def values(client: AsyncRedis, pattern: str) -> AsyncStateProbe[dict[str, Any]]: ...
def values(
    client: Redis | AsyncRedis, pattern: str
) -> StateProbe[dict[str, Any]] | AsyncStateProbe[dict[str, Any]]:
    """Read what the keys hold that match a pattern: key → value.

    A string is text; a hash, a mapping of texts; a list, a list; a set, a set; a sorted set, member → score;
    a stream, id → fields. A text of more than 256 bytes, or one that is no UTF-8, is its size and a digest;
    it is fetched all the same. How long a key has to live is not told. What others write between the round
    trips of a read is seen in one key and not in another; a key that changes its type then is inconclusive.

    Values are content: reports name the keys whose values changed, and show the values if the check says
    `.showing()`.

    Args:
        client: see the module.
        pattern: as for `count`.

    Raises:
        DefinitionTypeError: as for `count`.
        DefinitionValueError: likewise.

    Example:
        >>> from deltaspan import change
        >>> change("stock", values(Redis(), "stock:*")).only("stock:ham")
        change('stock', redis.values(client, 'stock:*')).only('stock:ham')
    """

    def steps(pattern: str) -> Steps[dict[str, Any]]:
        found = yield from names(client, pattern)
        return (yield from content(client, sorted(found)))

    return _probe("values", client, steps, pattern, escape=_escaped)


@overload
def length(client: Redis, key: str) -> StateProbe[int]: ...
@overload
def length(client: AsyncRedis, key: str) -> AsyncStateProbe[int]: ...
def length(client: Redis | AsyncRedis, key: str) -> StateProbe[int] | AsyncStateProbe[int]:
    """Count what a list, stream, set, sorted set or hash holds, or the bytes of a string; 0 without the key.

    Two round trips: which type it is, and how long.

    Args:
        client: see the module.
        key: its name.

    Raises:
        DefinitionTypeError: as for `count`.
        DefinitionValueError: likewise.

    Example:
        >>> from deltaspan import change
        >>> change("jobs", length(Redis(), "jobs:{queue}")).by(1)
        change('jobs', redis.length(client, 'jobs:{queue}')).by(1)
    """

    def steps(key: str) -> Steps[int]:
        name = key.encode("utf-8", "surrogateescape")
        kind = yield asked(client, "TYPE", name)
        kind = kind if isinstance(kind, str) else text(kind)
        if kind == "none":
            return 0
        if kind not in SIZES:
            raise RedisReadError(f"{key!r} holds a {kind}, whose length only its module tells")
        return int((yield asked(client, SIZES[kind], name)))

    return _probe("length", client, steps, key)


def _probe(
    word: str,
    client: Any,
    steps: Callable[..., Steps[S]],
    *templates: str,
    escape: Callable[[str], str] = str,
) -> StateProbe[S] | AsyncStateProbe[S]:
    is_async = isinstance(client, AsyncRedis)
    if not isinstance(client, Redis | AsyncRedis) or isinstance(client, Pipeline | AsyncPipeline):
        raise DefinitionTypeError(
            f"redis.{word}() reads with a redis.Redis or a redis.asyncio.Redis, not with a "
            f"{type(client).__name__}; of a cluster pass a client of one node"
        )

    if escape is _escaped:
        _refuse_parts_of_patterns(templates)

    def read(**given: Any) -> Steps[S]:
        escaped = {name: escape(filled(f"{{{name}}}", given)) for name in given}
        return steps(*(filled(template, escaped) for template in templates))

    settings = client.connection_pool.connection_kwargs
    secrets = [str(settings[name]) for name in ("password", "ssl_password") if settings.get(name)]
    words = f"redis.{word}({', '.join(('client', *map(source_text, templates)))})"
    content = word == "values"
    return probe_of(read, words, fields_of(*templates), secrets, is_async=is_async, content=content)


def _refuse_parts_of_patterns(patterns: Iterable[str]) -> None:
    for pattern in patterns:
        for before, name, after in places_of(pattern):
            if not is_literal_place_of_glob(before):
                raise DefinitionValueError(
                    f"the pattern {pattern!r} has {{{name}}} in brackets or behind a backslash, where it "
                    f"cannot be matched as it is; put it outside of them"
                )
            if (before.endswith("*") or after.startswith("*")) and not is_of_one_length(name):
                raise DefinitionValueError(
                    f"the pattern {pattern!r} has {{{name}}} next to '*', so that 'acme' would match 'acme2' "
                    f"too; put what ends the name between them, as in '{{{name}}}:*'"
                )


def _escaped(value: str) -> str:
    return _GLOB.sub(r"\\\1", value)
