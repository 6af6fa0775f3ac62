"""Probes of S3: object counts, object lists, metadata, text, digests.

They also read stores that speak the protocol of S3, such as MinIO.

    >>> import boto3
    >>> from deltaspan import change, unchanged
    >>> from deltaspan.probes import s3
    >>> client = boto3.client("s3", region_name="eu-central-1")
    >>> checks = (
    ...     change("reports", s3.count(client, "reports", "{tenant}/")).by(1),
    ...     change("objects", s3.objects(client, "reports", "{tenant}/")).adding("acme/today.csv"),
    ...     unchanged("price", s3.digest(client, "reports", "{tenant}/prices.csv")),
    ... )

`client` is a client of boto3, with its own retries and timeouts. In async actions another thread reads it. In
a bucket, a prefix and a key, `{name}` stands for the action's argument of that name, or `{causal_tag}`, which
scopes the check. Double a brace that is part of the text.

Cost, from the cheapest: `head` is one request. `count` and `objects` are one request, billed as such, for
each thousand objects below the prefix. `text` and `digest` fetch the object.

S3 shows a write as soon as the write returns. Some stores that speak its protocol do not. One request sees
one moment. A list of several pages may or may not include what others write or delete meanwhile. Only the
current version of an object is read, so an object that was deleted in a versioned bucket is missing. Parts of
an incomplete upload are not seen.

If S3 cannot be read, the check is inconclusive, with the error text of S3: no connection, no such bucket, no
permission. The permission is `s3:ListBucket` for `count` and `objects`, and `s3:GetObject` for the others;
without `s3:ListBucket`, S3 also refuses a key that does not exist. The check is also inconclusive beyond the
limit of a probe.

The module needs boto3: `pip install 'deltaspan[s3]'`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any, Final, Literal, NamedTuple, TypeVar, overload

from deltaspan._templates import fields_of, fill, has_fixed_length, places_of
from deltaspan.checks import said
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes._base.probe import StateProbe
from deltaspan.probes._base.secrets import secrets_of

try:
    import boto3  # type: ignore[import-untyped]  # noqa: F401  # its clients are classes of botocore
    from botocore.client import BaseClient  # type: ignore[import-untyped]
    from botocore.exceptions import ClientError  # type: ignore[import-untyped]
except ImportError:
    raise ImportError("deltaspan.probes.s3 needs boto3: pip install 'deltaspan[s3]'") from None

from deltaspan.probes._s3._requests import S3ReadError, check_is_s3, error_code, fetch_object, list_objects

__all__ = ["Object", "count", "digest", "head", "objects", "text"]

S = TypeVar("S")
_MAX_OBJECTS: Final = 250_000
"""The most objects of a state. Each is three of the values that a state may have."""
_MAX_COUNTED: Final = 1_000_000
_MAX_TEXT_BYTES: Final = 1_000_000
"""The most bytes of an object that are read as text."""
_CHUNK: Final = 1 << 20
_LISTING_PROBES: Final = frozenset({"count", "objects"})


class Object(NamedTuple):
    """An object in a list of a bucket.

    Attributes:
        size: bytes.
        etag: S3's identifier of the content. It is the MD5 of the content only if the object was uploaded in
            one part, and is not encrypted with a key of KMS or of the customer. The same content uploaded in
            parts has another ETag.
    """

    size: int
    etag: str


def count(client: BaseClient, bucket: str, prefix: str = "") -> StateProbe[int]:
    """Count the objects whose keys begin with a prefix, up to a million.

    Args:
        client: see the module.
        bucket: its name.
        prefix: the beginning of the keys, such as `reports/{tenant}/`. It may not end with a field, since
            `acme2` begins with `acme` too.

    Raises:
        DefinitionTypeError: the client is not a client of S3, or a name is not a str.
        DefinitionValueError: a field is not a plain name, or the prefix ends with one.

    Example:
        >>> from deltaspan import change
        >>> client = boto3.client("s3", region_name="eu-central-1")
        >>> change("reports", count(client, "reports", "{tenant}/")).by(1)
        change('reports', s3.count(client, 'reports', '{tenant}/')).by(1)
    """

    def read(bucket: str, prefix: str) -> int:
        return sum(1 for _ in list_objects(client, bucket, prefix, _MAX_COUNTED, "narrow the prefix"))

    return _probe("count", client, read, bucket, prefix)


def objects(client: BaseClient, bucket: str, prefix: str = "") -> StateProbe[dict[str, Object]]:
    """Read the objects whose keys begin with a prefix: key → size and ETag.

    At most 250 000 objects are read. An object that is rewritten with the same content usually has the
    same ETag. New metadata alone does not change the state; `head` shows metadata, and `digest` compares
    content.

    Args:
        client: see the module.
        bucket: its name.
        prefix: as for `count`. The state has the whole keys.

    Raises:
        DefinitionTypeError: as for `count`.
        DefinitionValueError: as for `count`.

    Example:
        >>> from deltaspan import change
        >>> client = boto3.client("s3", region_name="eu-central-1")
        >>> change("objects", objects(client, "reports")).only("acme/*.csv")
        change('objects', s3.objects(client, 'reports')).only('acme/*.csv')
    """

    def read(bucket: str, prefix: str) -> dict[str, Object]:
        listing = list_objects(client, bucket, prefix, _MAX_OBJECTS, "narrow the prefix, or use `count`")
        return {item["Key"]: Object(item["Size"], item["ETag"].strip('"')) for item in listing}

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
    """Read the metadata of an object without fetching its content.

    The state has `size`, `etag`, `content_type` and `metadata`. `metadata` is what the writer has set,
    such as a causal tag.

    Args:
        client: see the module.
        bucket: its name.
        key: the object's.
        missing_ok: whether a missing object is a state, None, because the action creates or removes it. The
            bucket must exist. A missing object takes one more request.

    Raises:
        DefinitionTypeError: as for `count`.
        DefinitionValueError: as for `count`.

    Example:
        >>> from deltaspan import change
        >>> client = boto3.client("s3", region_name="eu-central-1")
        >>> change("report", head(client, "reports", "{tenant}.csv")).only("size", "etag")
        change('report', s3.head(client, 'reports', '{tenant}.csv')).only('size', 'etag')
    """

    def read(bucket: str, key: str) -> dict[str, Any] | None:
        try:
            response = client.head_object(Bucket=bucket, Key=key)
        except ClientError as error:
            if not (missing_ok and error_code(error) in {"404", "NoSuchKey"}):
                raise
            client.head_bucket(Bucket=bucket)  # HEAD does not say if the bucket or the key is missing
            return None
        check_is_s3(response)
        return {
            "size": response["ContentLength"],
            "etag": response["ETag"].strip('"'),
            "content_type": response.get("ContentType"),
            "metadata": response["Metadata"],
        }

    return _probe("head", client, read, bucket, key, missing_ok=missing_ok)


@overload
def text(
    client: BaseClient, bucket: str, key: str, *, missing_ok: Literal[False] = ...
) -> StateProbe[str]: ...
@overload
def text(client: BaseClient, bucket: str, key: str, *, missing_ok: bool) -> StateProbe[str | None]: ...
def text(client: BaseClient, bucket: str, key: str, *, missing_ok: bool = False) -> Any:
    """Read an object as UTF-8 text, up to a million bytes.

    Args:
        client: see the module.
        bucket: its name.
        key: the object's.
        missing_ok: as for `head`, but without another request.

    Raises:
        DefinitionTypeError: as for `count`.
        DefinitionValueError: as for `count`.

    Example:
        >>> from deltaspan import change
        >>> client = boto3.client("s3", region_name="eu-central-1")
        >>> change("latest", text(client, "reports", "LATEST", missing_ok=True)).to("2026-11")
        change('latest', s3.text(client, 'reports', 'LATEST', missing_ok=True)).to('2026-11')
    """

    def read(bucket: str, key: str) -> str | None:
        def decode(response: Any) -> str:
            if response["ContentLength"] > _MAX_TEXT_BYTES:
                raise S3ReadError(
                    f"it has more than {_MAX_TEXT_BYTES} bytes: read its `digest`, or its `head`"
                )
            try:
                return str(response["Body"].read(), "utf-8")
            except UnicodeDecodeError:
                raise S3ReadError("it is not text in UTF-8: read its `digest`") from None

        return fetch_object(client, bucket, key, decode, missing_ok=missing_ok)

    return _probe("text", client, read, bucket, key, missing_ok=missing_ok)


@overload
def digest(
    client: BaseClient, bucket: str, key: str, *, missing_ok: Literal[False] = ...
) -> StateProbe[str]: ...
@overload
def digest(client: BaseClient, bucket: str, key: str, *, missing_ok: bool) -> StateProbe[str | None]: ...
def digest(client: BaseClient, bucket: str, key: str, *, missing_ok: bool = False) -> Any:
    """Read the SHA-256 of an object's content, independent of the upload method.

    Each read fetches the object.

    Args:
        client: see the module.
        bucket: its name.
        key: the object's.
        missing_ok: as for `text`.

    Raises:
        DefinitionTypeError: as for `count`.
        DefinitionValueError: as for `count`.

    Example:
        >>> from deltaspan import unchanged
        >>> client = boto3.client("s3", region_name="eu-central-1")
        >>> unchanged("model", digest(client, "models", "current.bin"))
        unchanged('model', s3.digest(client, 'models', 'current.bin'))
    """

    def read(bucket: str, key: str) -> str | None:
        def digest_body(response: Any) -> str:
            sha = hashlib.sha256()
            for chunk in response["Body"].iter_chunks(_CHUNK):
                sha.update(chunk)
            return f"sha256:{sha.hexdigest()}"

        return fetch_object(client, bucket, key, digest_body, missing_ok=missing_ok)

    return _probe("digest", client, read, bucket, key, missing_ok=missing_ok)


def _probe(
    function: str,
    client: Any,
    read: Callable[[str, str], S],
    bucket: str,
    name: str,
    *,
    missing_ok: bool = False,
) -> StateProbe[S]:
    kind = type(client).__name__
    if (
        not isinstance(client, BaseClient)
        or client.meta.service_model.service_name != "s3"
        or iscoroutinefunction(client._make_api_call)  # noqa: SLF001  # only this shows a client of aiobotocore
    ):
        raise DefinitionTypeError(f"s3.{function}() reads with a boto3.client('s3'), not with a {kind}")
    for _, field, after in places_of(name) if function in _LISTING_PROBES else ():
        if not (after or has_fixed_length(field)):
            raise DefinitionValueError(
                f"the prefix {name!r} ends with an argument, so 'acme' would also select 'acme2'; end it "
                f"with a separator, as in '{{{field}}}/'"
            )
    call = said(f"s3.{function}", bucket, *([name] if name else []), missing_ok=missing_ok or None)
    return StateProbe(
        lambda **values: read(fill(bucket, values), fill(name, values)),
        call.replace("(", "(client, ", 1),
        fields_of(bucket, name),
        secrets_of(client.meta.endpoint_url),
        content=function == "text",
    )
