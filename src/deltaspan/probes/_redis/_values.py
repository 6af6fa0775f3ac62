"""Asking a Redis server: which keys there are, page by page, and what they hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

from redis.client import NEVER_DECODE

from deltaspan.probes._base.requests import Steps

__all__ = ["MOST_KEYS", "MOST_VALUES", "SIZES", "RedisReadError", "asked", "content", "names", "text"]

MOST_KEYS: Final = 1_000_000
"""How many names are read."""
MOST_VALUES: Final = 100_000
"""How many values are read, those within hashes, lists, sets, sorted sets and streams too."""
_PAGE: Final = 1000
_MOST_SHOWN: Final = 256
"""How many bytes of a value are told; of a longer one, its digest."""

SIZES: Final = {
    "string": "STRLEN", "hash": "HLEN", "list": "LLEN", "set": "SCARD", "zset": "ZCARD", "stream": "XLEN",
}  # fmt: skip
_READS: Final[Mapping[str, tuple[object, ...]]] = {
    "string": ("GET",),
    "hash": ("HGETALL",),
    "list": ("LRANGE", 0, -1),
    "set": ("SMEMBERS",),
    "zset": ("ZRANGE", 0, -1, "WITHSCORES"),
    "stream": ("XRANGE", "-", "+"),
}
_RAW: Final = {NEVER_DECODE: True}


class RedisReadError(Exception):
    """Why a server that answers was not read all the same."""


def text(data: bytes) -> str:
    """Return a name; bytes that are no UTF-8 become surrogates, as those of `os.fsdecode` do."""
    return data.decode("utf-8", "surrogateescape")


def asked(client: Any, *command: object) -> Any:
    """Send one command; the reply is bytes, whatever the client decodes."""
    return client.execute_command(*command, **_RAW)


def names(client: Any, pattern: str) -> Steps[set[bytes]]:
    """Return the names that match, each once, though SCAN may tell one again.

    Raises:
        RedisReadError: there are more than `MOST_KEYS`.
    """
    match = pattern.encode("utf-8", "surrogateescape")
    found: set[bytes] = set()
    cursor = 0
    while True:
        cursor, page = yield asked(client, "SCAN", cursor, "MATCH", match, "COUNT", _PAGE)
        found.update(page)
        if len(found) > MOST_KEYS:
            raise RedisReadError(
                f"more than {MOST_KEYS} keys match {pattern!r}: narrow the pattern, or count all keys with "
                f"`size`"
            )
        if not cursor:
            return found


def content(client: Any, keys: Sequence[bytes]) -> Steps[dict[str, Any]]:
    """Return what keys hold; one that is gone by then is left out.

    Raises:
        RedisReadError: they hold more than `MOST_VALUES`, or what is no type of Redis itself.
    """
    found: dict[str, Any] = {}
    total = 0
    for start in range(0, len(keys), _PAGE):
        page = keys[start : start + _PAGE]
        types = yield from _together(client, [("TYPE", name) for name in page])
        kinds = zip(page, types, strict=True)
        kept = {name: kind for name, kind in ((name, _kind(name, kind)) for name, kind in kinds) if kind}
        sizes = yield from _together(client, [(SIZES[kind], name) for name, kind in kept.items()])
        total += sum(1 if kind == "string" else size for kind, size in zip(kept.values(), sizes, strict=True))
        if total > MOST_VALUES:
            raise RedisReadError(
                f"the keys hold more than {MOST_VALUES} values: narrow the pattern, or read `keys`, or the "
                f"`length` of one"
            )
        read = yield from _together(client, [_reading(name, kind) for name, kind in kept.items()])
        for (name, kind), value in zip(kept.items(), read, strict=True):
            if value or kind == "stream" or (kind == "string" and value is not None):
                found[text(name)] = _plain(kind, value)
    return found


def _together(client: Any, commands: Iterable[tuple[object, ...]]) -> Steps[Sequence[Any]]:
    if client.connection is not None:
        # A client of one connection has another for pipelines, which no SELECT has moved to its database.
        replies = []
        for command in commands:
            reply = yield client.execute_command(*command, **_options(command))
            replies.append(reply)
        return replies
    pipeline = client.pipeline(transaction=False)
    for command in commands:
        pipeline.execute_command(*command, **_options(command))
    found: Sequence[Any] = yield pipeline.execute()
    return found


def _options(command: tuple[object, ...]) -> Mapping[str, object]:
    return {**_RAW, "withscores": True} if command[0] == "ZRANGE" else _RAW


def _kind(name: bytes, kind: bytes | str) -> str | None:
    said = kind if isinstance(kind, str) else text(kind)
    if said == "none":
        return None
    if said not in SIZES:
        raise RedisReadError(
            f"{text(name)!r} holds a {said}, which only its module reads: leave it out of the pattern, or "
            f"write a probe that asks the module"
        )
    return said


def _reading(name: bytes, kind: str) -> tuple[object, ...]:
    command, *rest = _READS[kind]
    return (command, name, *rest)


def _plain(kind: str, value: Any) -> Any:
    if kind == "string":
        return _shown(value)
    if kind == "hash":
        return {text(field): _shown(held) for field, held in value.items()}
    if kind == "list":
        return [_shown(held) for held in value]
    if kind == "set":
        return {_shown(held) for held in value}
    if kind == "zset":
        return {_shown(member): score for member, score in value}
    return {
        text(name): {text(field): _shown(held) for field, held in fields.items()} for name, fields in value
    }


def _shown(data: bytes) -> str:
    if len(data) <= _MOST_SHOWN:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            pass
    return f"{len(data)} bytes, blake2b:{blake2b(data, digest_size=16).hexdigest()}"
