"""Probes of Redis: key counts, key names, values, lengths.

They also read servers that speak the protocol of Redis, such as Valkey.

    >>> from redis import Redis
    >>> from deltaspan import change, unchanged
    >>> from deltaspan.probes import redis
    >>> client = Redis("cache.internal")
    >>> checks = (
    ...     change("carts", redis.count(client, "cart:{tenant}:*")).by(1),
    ...     change("jobs", redis.length(client, "jobs")).by(1),
    ...     unchanged("sessions", redis.values(client, "session:{tenant}:*")),
    ... )

`client` is a `redis.Redis`, or for async actions a `redis.asyncio.Redis`. Each read takes a connection of its
pool. The client of a cluster is rejected; pass a client of one node, whose keys are read.

In a pattern and in a key, `{name}` stands for the action's argument of that name, or `{causal_tag}`, which
scopes the check. In a pattern the argument is matched literally, including `*`. It may not stand in brackets,
after a backslash or next to `*`. Double a brace that is part of the text, such as those of hash tags in a
cluster: `cart:{{{tenant}}}:*`. Names that are not UTF-8 contain surrogates, as with `os.fsdecode`, even if
the client decodes responses.

Cost, from the cheapest: `size` and `length` take constant time on the server. `count` and `keys` scan *all*
keys of the database with SCAN, in one round trip for each thousand, so they never block the server. `values`
adds three round trips for each thousand matching keys.

SCAN is not a snapshot. A key that exists throughout the read is seen once. A key that others add, remove or
rename meanwhile may or may not be seen. An expired key counts as removed. A read counts as an access for
eviction. Read from the server that the action writes to, since a replica lags behind.

If Redis cannot be read, the check is inconclusive, with the error text of the server: no connection, a wrong
password, a forbidden command (`scan`, `dbsize`, `type` and the reading commands of each type), or a key of
another type. It is also inconclusive above a million keys, or in `values` above 100 000 values.

The module needs redis-py: `pip install 'deltaspan[redis]'`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar, overload

from deltaspan._templates import fields_of, fill, has_fixed_length, places_of
from deltaspan.checks import source
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes._base.patterns import is_literal_place_in_glob
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._base.requests import RequestSteps, request_probe

try:
    from redis import Redis
    from redis.asyncio import Redis as AsyncRedis
    from redis.asyncio.client import Pipeline as AsyncPipeline
    from redis.client import Pipeline
except ImportError:
    raise ImportError("deltaspan.probes.redis needs redis-py: pip install 'deltaspan[redis]'") from None

from deltaspan.probes._redis._values import (
    LENGTH_COMMANDS,
    RedisReadError,
    decode_name,
    read_values,
    scan_keys,
    send_command,
)

__all__ = ["count", "keys", "length", "size", "values"]

S = TypeVar("S")
_GLOB: Final = re.compile(r"([*?\[\]\\^-])")


@overload
def size(client: Redis) -> StateProbe[int]: ...
@overload
def size(client: AsyncRedis) -> AsyncStateProbe[int]: ...
def size(client: Redis | AsyncRedis) -> StateProbe[int] | AsyncStateProbe[int]:
    """Count all keys of the database, at no cost (DBSIZE).

    Expired keys count until the server has removed them.

    Args:
        client: see the module.

    Raises:
        DefinitionTypeError: the client is not one of the two.

    Example:
        >>> from deltaspan import unchanged
        >>> unchanged("keys", size(Redis()))
        unchanged('keys', redis.size(client))
    """

    def steps() -> RequestSteps[int]:
        return int((yield send_command(client, "DBSIZE")))

    return _probe("size", client, steps)


@overload
def count(client: Redis, pattern: str) -> StateProbe[int]: ...
@overload
def count(client: AsyncRedis, pattern: str) -> AsyncStateProbe[int]: ...
def count(client: Redis | AsyncRedis, pattern: str) -> StateProbe[int] | AsyncStateProbe[int]:
    r"""Count the keys that match a pattern.

    Args:
        client: see the module.
        pattern: a pattern of SCAN and KEYS: `*`, `?`, `[abc]`, with `\` before a literal one.

    Raises:
        DefinitionTypeError: the client is not one of the two, or the pattern is not a str.
        DefinitionValueError: a field is not a plain name, or stands where it cannot be matched literally.

    Example:
        >>> from deltaspan import change
        >>> change("carts", count(Redis(), "cart:{tenant}:*")).by(1)
        change('carts', redis.count(client, 'cart:{tenant}:*')).by(1)
    """

    def steps(pattern: str) -> RequestSteps[int]:
        return len((yield from scan_keys(client, pattern)))

    return _probe("count", client, steps, pattern, escape=_escape_glob)


@overload
def keys(client: Redis, pattern: str) -> StateProbe[set[str]]: ...
@overload
def keys(client: AsyncRedis, pattern: str) -> AsyncStateProbe[set[str]]: ...
def keys(client: Redis | AsyncRedis, pattern: str) -> StateProbe[set[str]] | AsyncStateProbe[set[str]]:
    """Read the names of the keys that match a pattern.

    A change of a value is not seen.

    Args:
        client: see the module.
        pattern: as for `count`.

    Raises:
        DefinitionTypeError: as for `count`.
        DefinitionValueError: as for `count`.

    Example:
        >>> from deltaspan import change
        >>> change("carts", keys(Redis(), "cart:*")).adding(count=1)
        change('carts', redis.keys(client, 'cart:*')).adding(count=1)
    """

    def steps(pattern: str) -> RequestSteps[set[str]]:
        return {decode_name(name) for name in (yield from scan_keys(client, pattern))}

    return _probe("keys", client, steps, pattern, escape=_escape_glob)


@overload
def values(client: Redis, pattern: str) -> StateProbe[dict[str, Any]]: ...
@overload
def values(client: AsyncRedis, pattern: str) -> AsyncStateProbe[dict[str, Any]]: ...
def values(
    client: Redis | AsyncRedis, pattern: str
) -> StateProbe[dict[str, Any]] | AsyncStateProbe[dict[str, Any]]:
    """Read the values of the keys that match a pattern: key → value.

    A string becomes a str, a hash a mapping of str to str, a list a list, a set a set, a sorted set
    member → score, and a stream id → fields. A text of more than 256 bytes, or one that is not UTF-8,
    becomes its size and a digest, but it is fetched all the same. The time to live of a key is not read.
    A write of others between the round trips of a read may be seen in one key and not in another. If a
    key changes its type meanwhile, the check is inconclusive.

    Values are content: reports name the keys whose values changed, and show the values if the check has
    `.showing()`.

    Args:
        client: see the module.
        pattern: as for `count`.

    Raises:
        DefinitionTypeError: as for `count`.
        DefinitionValueError: as for `count`.

    Example:
        >>> from deltaspan import change
        >>> change("stock", values(Redis(), "stock:*")).only("stock:ham")
        change('stock', redis.values(client, 'stock:*')).only('stock:ham')
    """

    def steps(pattern: str) -> RequestSteps[dict[str, Any]]:
        names = yield from scan_keys(client, pattern)
        return (yield from read_values(client, sorted(names)))

    return _probe("values", client, steps, pattern, escape=_escape_glob)


@overload
def length(client: Redis, key: str) -> StateProbe[int]: ...
@overload
def length(client: AsyncRedis, key: str) -> AsyncStateProbe[int]: ...
def length(client: Redis | AsyncRedis, key: str) -> StateProbe[int] | AsyncStateProbe[int]:
    """Read the length of the value of a key.

    It is the number of items of a list, stream, set, sorted set or hash, the bytes of a string, and 0
    without the key. It takes two round trips, for the type and for the length.

    Args:
        client: see the module.
        key: its name.

    Raises:
        DefinitionTypeError: as for `count`.
        DefinitionValueError: as for `count`.

    Example:
        >>> from deltaspan import change
        >>> change("jobs", length(Redis(), "jobs:{queue}")).by(1)
        change('jobs', redis.length(client, 'jobs:{queue}')).by(1)
    """

    def steps(key: str) -> RequestSteps[int]:
        name = key.encode("utf-8", "surrogateescape")
        type_name = yield send_command(client, "TYPE", name)
        type_name = type_name if isinstance(type_name, str) else decode_name(type_name)
        if type_name == "none":
            return 0
        if type_name not in LENGTH_COMMANDS:
            raise RedisReadError(
                f"{key!r} holds a {type_name}, whose length only its module reads; write your own probe"
            )
        return int((yield send_command(client, LENGTH_COMMANDS[type_name], name)))

    return _probe("length", client, steps, key)


def _probe(
    function: str,
    client: Any,
    steps: Callable[..., RequestSteps[S]],
    *templates: str,
    escape: Callable[[str], str] = str,
) -> StateProbe[S] | AsyncStateProbe[S]:
    is_async = isinstance(client, AsyncRedis)
    if not isinstance(client, Redis | AsyncRedis) or isinstance(client, Pipeline | AsyncPipeline):
        raise DefinitionTypeError(
            f"redis.{function}() reads with a redis.Redis or a redis.asyncio.Redis, not with a "
            f"{type(client).__name__}; for a cluster, pass a client of one node"
        )

    if escape is _escape_glob:
        _check_pattern_fields(templates)

    def read(**arguments: Any) -> RequestSteps[S]:
        escaped = {name: escape(fill(f"{{{name}}}", arguments)) for name in arguments}
        return steps(*(fill(template, escaped) for template in templates))

    settings = client.connection_pool.connection_kwargs
    secrets = [str(settings[name]) for name in ("password", "ssl_password") if settings.get(name)]
    call = f"redis.{function}({', '.join(('client', *map(source, templates)))})"
    content = function == "values"
    return request_probe(read, call, fields_of(*templates), secrets, is_async=is_async, content=content)


def _check_pattern_fields(patterns: Iterable[str]) -> None:
    for pattern in patterns:
        for before, name, after in places_of(pattern):
            if not is_literal_place_in_glob(before):
                raise DefinitionValueError(
                    f"the pattern {pattern!r} has {{{name}}} in brackets or behind a backslash, where it "
                    f"cannot be matched as it is; put it outside of them"
                )
            if (before.endswith("*") or after.startswith("*")) and not has_fixed_length(name):
                raise DefinitionValueError(
                    f"the pattern {pattern!r} has {{{name}}} next to '*', so that 'acme' would match 'acme2' "
                    f"too; put the character that ends the name between them, as in '{{{name}}}:*'"
                )


def _escape_glob(value: str) -> str:
    return _GLOB.sub(r"\\\1", value)
