"""Requests to a Redis server: key names, page by page, and values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

from redis.client import NEVER_DECODE

from deltaspan.probes._base.requests import RequestSteps

MAX_KEYS: Final = 1_000_000
"""The most names that are read."""
MAX_VALUES: Final = 100_000
"""The most values that are read, including items of hashes, lists, sets, sorted sets and streams."""
_PAGE_SIZE: Final = 1000
_MAX_VALUE_BYTES: Final = 256
"""The most bytes of a value that are kept. A longer one becomes a digest."""

LENGTH_COMMANDS: Final = {
    "string": "STRLEN", "hash": "HLEN", "list": "LLEN", "set": "SCARD", "zset": "ZCARD", "stream": "XLEN",
}  # fmt: skip
_READ_COMMANDS: Final[Mapping[str, tuple[object, ...]]] = {
    "string": ("GET",),
    "hash": ("HGETALL",),
    "list": ("LRANGE", 0, -1),
    "set": ("SMEMBERS",),
    "zset": ("ZRANGE", 0, -1, "WITHSCORES"),
    "stream": ("XRANGE", "-", "+"),
}
_RAW: Final = {NEVER_DECODE: True}


class RedisReadError(Exception):
    """A server answered, but its answer cannot be the state."""


def decode_name(data: bytes) -> str:
    """Return the name of a key as text.

    Bytes that are not UTF-8 become surrogates, as with `os.fsdecode`.
    """
    return data.decode("utf-8", "surrogateescape")


def send_command(client: Any, *command: object) -> Any:
    """Send one command.

    The reply is bytes, even if the client decodes responses.
    """
    return client.execute_command(*command, **_RAW)


def scan_keys(client: Any, pattern: str) -> RequestSteps[set[bytes]]:
    """Return the matching key names, each once.

    Raises:
        RedisReadError: there are more than `MAX_KEYS`.
    """
    match = pattern.encode("utf-8", "surrogateescape")
    names: set[bytes] = set()
    cursor = 0
    while True:
        cursor, page = yield send_command(client, "SCAN", cursor, "MATCH", match, "COUNT", _PAGE_SIZE)
        names.update(page)
        if len(names) > MAX_KEYS:
            raise RedisReadError(
                f"more than {MAX_KEYS} keys match {pattern!r}: narrow the pattern, or count all keys with "
                f"`size`"
            )
        if not cursor:
            return names


def read_values(client: Any, keys: Sequence[bytes]) -> RequestSteps[dict[str, Any]]:
    """Return the values of keys.

    A key that has vanished is left out.

    Raises:
        RedisReadError: they hold more than `MAX_VALUES`, or a type of a module.
    """
    state: dict[str, Any] = {}
    total = 0
    for start in range(0, len(keys), _PAGE_SIZE):
        page = keys[start : start + _PAGE_SIZE]
        types = yield from _send_all(client, [("TYPE", name) for name in page])
        type_names = zip(page, types, strict=True)
        type_by_key = {
            name: type_name
            for name, type_name in ((name, _type_of(name, type_name)) for name, type_name in type_names)
            if type_name
        }
        sizes = yield from _send_all(
            client, [(LENGTH_COMMANDS[type_name], name) for name, type_name in type_by_key.items()]
        )
        total += sum(
            1 if type_name == "string" else size
            for type_name, size in zip(type_by_key.values(), sizes, strict=True)
        )
        if total > MAX_VALUES:
            raise RedisReadError(
                f"the keys hold more than {MAX_VALUES} values: narrow the pattern, or read `keys`, or the "
                f"`length` of one"
            )
        values = yield from _send_all(
            client, [_read_command(name, type_name) for name, type_name in type_by_key.items()]
        )
        for (name, type_name), value in zip(type_by_key.items(), values, strict=True):
            if value or type_name == "stream" or (type_name == "string" and value is not None):
                state[decode_name(name)] = _to_python(type_name, value)
    return state


def _send_all(client: Any, commands: Iterable[tuple[object, ...]]) -> RequestSteps[Sequence[Any]]:
    if client.connection is not None:
        # A client of one connection uses another one for pipelines, whose database no SELECT has set.
        replies = []
        for command in commands:
            reply = yield client.execute_command(*command, **_options(command))
            replies.append(reply)
        return replies
    pipeline = client.pipeline(transaction=False)
    for command in commands:
        pipeline.execute_command(*command, **_options(command))
    answers: Sequence[Any] = yield pipeline.execute()
    return answers


def _options(command: tuple[object, ...]) -> Mapping[str, object]:
    return {**_RAW, "withscores": True} if command[0] == "ZRANGE" else _RAW


def _type_of(name: bytes, type_name: bytes | str) -> str | None:
    type_name = type_name if isinstance(type_name, str) else decode_name(type_name)
    if type_name == "none":
        return None
    if type_name not in LENGTH_COMMANDS:
        raise RedisReadError(
            f"{decode_name(name)!r} holds a {type_name}, which only its module reads: leave it out of the "
            f"pattern, or write a probe that asks the module"
        )
    return type_name


def _read_command(name: bytes, type_name: str) -> tuple[object, ...]:
    command, *rest = _READ_COMMANDS[type_name]
    return (command, name, *rest)


def _to_python(type_name: str, value: Any) -> Any:
    if type_name == "string":
        return _decode_value(value)
    if type_name == "hash":
        return {decode_name(field): _decode_value(item) for field, item in value.items()}
    if type_name == "list":
        return [_decode_value(item) for item in value]
    if type_name == "set":
        return {_decode_value(item) for item in value}
    if type_name == "zset":
        return {_decode_value(member): score for member, score in value}
    return {
        decode_name(name): {decode_name(field): _decode_value(item) for field, item in fields.items()}
        for name, fields in value
    }


def _decode_value(data: bytes) -> str:
    if len(data) <= _MAX_VALUE_BYTES:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            pass
    return f"{len(data)} bytes, blake2b:{blake2b(data, digest_size=16).hexdigest()}"
