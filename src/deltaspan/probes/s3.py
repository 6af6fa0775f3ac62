"""Read S3 (and what speaks its protocol, such as MinIO): which objects there are, and what one holds.

    >>> import boto3
    >>> from deltaspan import change, unchanged
    >>> from deltaspan.probes import s3
    >>> client = boto3.client("s3", region_name="eu-central-1")
    >>> checks = (
    ...     change("reports", s3.count(client, "reports", "{tenant}/")).by(1),
    ...     change("objects", s3.objects(client, "reports", "{tenant}/")).adding("acme/today.csv"),
    ...     unchanged("price", s3.digest(client, "reports", "{tenant}/prices.csv")),
    ... )

`client` is a client of boto3, with the retries and timeouts that it is configured with; in async actions it
is read in another thread. In a bucket, a prefix and a key, `{name}` stands for the action's argument of that
name, or `{causal_tag}`, which scopes the check; write a brace itself twice.

From the cheapest: `head` is one request; `count` and `objects` are one for each thousand objects below the
prefix, which is billed as such; `text` and `digest` fetch the object.

S3 shows what was written as soon as the write has returned; not every store that speaks its protocol does.
One request is of one moment. A list of several pages is not: what others write or delete meanwhile may or
may not be in it. Only the current version of an object is read: neither earlier ones nor delete markers are
seen, so an object that is deleted in a bucket with versions is one that is not there. Parts of an upload that
was not completed are not seen either.

What cannot be read is inconclusive, in the words of S3: no connection, no such bucket, no permission
(`s3:ListBucket` for `count` and `objects`, `s3:GetObject` for the others; without `s3:ListBucket` a key that
is not there is refused too). So is what is larger than each probe says.

The module needs boto3: `pip install 'deltaspan[s3]'`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any, Final, Literal, NamedTuple, TypeVar, overload

from deltaspan._templates import fields_of, filled, is_of_one_length, places_of
from deltaspan.checks import call_text
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes._base.probe import StateProbe
from deltaspan.probes._base.secrets import secrets_of

try:
    import boto3  # type: ignore[import-untyped]  # noqa: F401  # its clients are botocore's
    from botocore.client import BaseClient  # type: ignore[import-untyped]
    from botocore.exceptions import ClientError  # type: ignore[import-untyped]
except ImportError:
    raise ImportError("deltaspan.probes.s3 needs boto3: pip install 'deltaspan[s3]'") from None

from deltaspan.probes._s3._reading import S3ReadError, code_of, fetched, listed, of_a_store

__all__ = ["Object", "count", "digest", "head", "objects", "text"]

S = TypeVar("S")
_MOST_OBJECTS: Final = 250_000
"""How many objects are told; each is three values of a state."""
_MOST_COUNTED: Final = 1_000_000
_MOST_BYTES: Final = 1_000_000
"""How much text is told of an object."""
_CHUNK: Final = 1 << 20
_OF_PREFIXES: Final = frozenset({"count", "objects"})


class Object(NamedTuple):
    """An object, as a list tells it.

    Attributes:
        size: bytes.
        etag: what S3 gives to tell one content from another. It is the MD5 of the content only of what was
            uploaded in one part and is not encrypted with a key of KMS or of the customer; the same content
            uploaded in parts has another one.
    """

    size: int
    etag: str


def count(client: BaseClient, bucket: str, prefix: str = "") -> StateProbe[int]:
    """Count the objects whose keys begin with a prefix; at most a million.

    Args:
        client: see the module.
        bucket: its name.
        prefix: the beginning of the keys, such as `reports/{tenant}/`. One that ends with a field is refused,
            for `acme2` begins with `acme` too.

    Raises:
        DefinitionTypeError: the client is none of S3, or a name is no text.
        DefinitionValueError: a field is no plain name, or the prefix ends with one.

    Example:
        >>> from deltaspan import change
        >>> client = boto3.client("s3", region_name="eu-central-1")
        >>> change("reports", count(client, "reports", "{tenant}/")).by(1)
        change('reports', s3.count(client, 'reports', '{tenant}/')).by(1)
    """

    def read(bucket: str, prefix: str) -> int:
        return sum(1 for _ in listed(client, bucket, prefix, _MOST_COUNTED, "narrow the prefix"))

    return _probe("count", client, read, bucket, prefix)


def objects(client: BaseClient, bucket: str, prefix: str = "") -> StateProbe[dict[str, Object]]:
    """Read the objects whose keys begin with a prefix: key → size and ETag; at most 250 000.

    What is written again with the same content mostly reads as before, and so does what got other metadata
    alone: `head` tells those, `digest` one content from another.

    Args:
        client: see the module.
        bucket: its name.
        prefix: as for `count`; the keys are told whole.

    Raises:
        DefinitionTypeError: as for `count`.
        DefinitionValueError: likewise.

    Example:
        >>> from deltaspan import change
        >>> client = boto3.client("s3", region_name="eu-central-1")
        >>> change("objects", objects(client, "reports")).only("acme/*.csv")
        change('objects', s3.objects(client, 'reports')).only('acme/*.csv')
    """

    def read(bucket: str, prefix: str) -> dict[str, Object]:
        found = listed(client, bucket, prefix, _MOST_OBJECTS, "narrow the prefix, or use `count`")
        return {each["Key"]: Object(each["Size"], each["ETag"].strip('"')) for each in found}

    return _probe("objects", client, read, bucket, prefix)


@overload
def head(
    client: BaseClient, bucket: str, key: str, *, missing_ok: Literal[False] = ...
) -> StateProbe[dict[str, Any]]: ...
@overload
def head(
    client: BaseClient, bucket: str, key: str, *, missing_ok: bool
) -> StateProbe[dict[str, Any] | None]: ...
def head(client: BaseClient, bucket: str, key: str, *, missing_ok: bool = False) -> Any:
    """Read what S3 knows of an object, without fetching it: `size`, `etag`, `content_type` and `metadata`.

    `metadata` is what whoever wrote it has put there, such as a causal tag.

    Args:
        client: see the module.
        bucket: its name.
        key: the object's.
        missing_ok: whether no such object is a state, None, because the action makes or removes it. In a
            bucket that is there; it takes one more request then.

    Raises:
        DefinitionTypeError: as for `count`.
        DefinitionValueError: likewise.

    Example:
        >>> from deltaspan import change
        >>> client = boto3.client("s3", region_name="eu-central-1")
        >>> change("report", head(client, "reports", "{tenant}.csv")).only("size", "etag")
        change('report', s3.head(client, 'reports', '{tenant}.csv')).only('size', 'etag')
    """

    def read(bucket: str, key: str) -> dict[str, Any] | None:
        try:
            found = client.head_object(Bucket=bucket, Key=key)
        except ClientError as error:
            if not (missing_ok and code_of(error) in {"404", "NoSuchKey"}):
                raise
            client.head_bucket(Bucket=bucket)  # HEAD does not say which of the two is not there
            return None
        of_a_store(found)
        return {
            "size": found["ContentLength"],
            "etag": found["ETag"].strip('"'),
            "content_type": found.get("ContentType"),
            "metadata": found["Metadata"],
        }

    return _probe("head", client, read, bucket, key, missing_ok=missing_ok)


@overload
def text(
    client: BaseClient, bucket: str, key: str, *, missing_ok: Literal[False] = ...
) -> StateProbe[str]: ...
@overload
def text(client: BaseClient, bucket: str, key: str, *, missing_ok: bool) -> StateProbe[str | None]: ...
def text(client: BaseClient, bucket: str, key: str, *, missing_ok: bool = False) -> Any:
    """Read the text that an object holds, in UTF-8; at most a million bytes.

    Args:
        client: see the module.
        bucket: its name.
        key: the object's.
        missing_ok: as for `head`, and without another request.

    Raises:
        DefinitionTypeError: as for `count`.
        DefinitionValueError: likewise.

    Example:
        >>> from deltaspan import change
        >>> client = boto3.client("s3", region_name="eu-central-1")
        >>> change("latest", text(client, "reports", "LATEST", missing_ok=True)).to("2026-11")
        change('latest', s3.text(client, 'reports', 'LATEST', missing_ok=True)).to('2026-11')
    """

    def read(bucket: str, key: str) -> str | None:
        def decoded(found: Any) -> str:
            if found["ContentLength"] > _MOST_BYTES:
                raise S3ReadError(f"it has more than {_MOST_BYTES} bytes: read its `digest`, or its `head`")
            try:
                return str(found["Body"].read(), "utf-8")
            except UnicodeDecodeError:
                raise S3ReadError("it is no text in UTF-8: read its `digest`") from None

        return fetched(client, bucket, key, decoded, missing_ok=missing_ok)

    return _probe("text", client, read, bucket, key, missing_ok=missing_ok)


@overload
def digest(
    client: BaseClient, bucket: str, key: str, *, missing_ok: Literal[False] = ...
) -> StateProbe[str]: ...
@overload
def digest(client: BaseClient, bucket: str, key: str, *, missing_ok: bool) -> StateProbe[str | None]: ...
def digest(client: BaseClient, bucket: str, key: str, *, missing_ok: bool = False) -> Any:
    """Read the SHA-256 of what an object holds, however it was uploaded; the object is fetched for it.

    Args:
        client: see the module.
        bucket: its name.
        key: the object's.
        missing_ok: as for `text`.

    Raises:
        DefinitionTypeError: as for `count`.
        DefinitionValueError: likewise.

    Example:
        >>> from deltaspan import unchanged
        >>> client = boto3.client("s3", region_name="eu-central-1")
        >>> unchanged("model", digest(client, "models", "current.bin"))
        unchanged('model', s3.digest(client, 'models', 'current.bin'))
    """

    def read(bucket: str, key: str) -> str | None:
        def digested(found: Any) -> str:
            sha = hashlib.sha256()
            for chunk in found["Body"].iter_chunks(_CHUNK):
                sha.update(chunk)
            return f"sha256:{sha.hexdigest()}"

        return fetched(client, bucket, key, digested, missing_ok=missing_ok)

    return _probe("digest", client, read, bucket, key, missing_ok=missing_ok)


def _probe(
    word: str, client: Any, read: Callable[[str, str], S], bucket: str, name: str, *, missing_ok: bool = False
) -> StateProbe[S]:
    kind = type(client).__name__
    if (
        not isinstance(client, BaseClient)
        or client.meta.service_model.service_name != "s3"
        or iscoroutinefunction(client._make_api_call)  # noqa: SLF001  # aiobotocore's, by which alone it tells
    ):
        raise DefinitionTypeError(f"s3.{word}() reads with a boto3.client('s3'), not with a {kind}")
    for _, field, after in places_of(name) if word in _OF_PREFIXES else ():
        if not (after or is_of_one_length(field)):
            raise DefinitionValueError(
                f"the prefix {name!r} ends with an argument, so that of 'acme' would read 'acme2' too: end "
                f"it with what ends the name, as in '{{{field}}}/'"
            )
    shown = call_text(f"s3.{word}", bucket, *([name] if name else []), missing_ok=missing_ok or None)
    return StateProbe(
        lambda **given: read(filled(bucket, given), filled(name, given)),
        shown.replace("(", "(client, ", 1),
        fields_of(bucket, name),
        secrets_of(client.meta.endpoint_url),
        content=word == "text",
    )
