"""Requests to S3: a complete list, or one object as a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, Final

from botocore.exceptions import ClientError  # type: ignore[import-untyped]

_NOT_S3: Final = "the answer is not from S3; check the client's endpoint_url, and the proxies in between"


class S3ReadError(Exception):
    """A store answered, but its answer cannot be the state."""


def list_objects(client: Any, bucket: str, prefix: str, limit: int, advice: str) -> Iterator[Any]:
    """Yield the objects below a prefix, page after page.

    Raises:
        S3ReadError: there are more than `limit` objects, or the answer is not a complete list of S3.
    """
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    total, is_truncated = 0, False
    for page in pages:
        # Another answer with status 200, such as a login page, would read as an empty list.
        if "Name" not in page and "IsTruncated" not in page:
            raise S3ReadError(_NOT_S3)
        is_truncated = page.get("IsTruncated", False)
        response = page.get("Contents", ())
        total += len(response)
        if total > limit:
            raise S3ReadError(f"there are more than {limit} objects: {advice}")
        yield from response
    if is_truncated:
        raise S3ReadError(
            f"the store does not return the token of the next page after {total} objects, as ListObjectsV2 "
            f"requires: narrow the prefix"
        )


def fetch_object(
    client: Any, bucket: str, key: str, use: Callable[[Any], str], *, missing_ok: bool
) -> str | None:
    """Fetch an object, and return the result of `use`.

    The result is None if the object is missing and `missing_ok` is set.

    Raises:
        S3ReadError: the answer is not from S3.
    """
    try:
        response = client.get_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if missing_ok and error_code(error) == "NoSuchKey":
            return None
        raise
    with closing(response["Body"]):
        check_is_s3(response)
        return use(response)


def check_is_s3(response: Any) -> None:
    """Raise if the answer cannot come from S3.

    Raises:
        S3ReadError: the answer has no ETag.
    """
    if not response.get("ETag"):
        raise S3ReadError(_NOT_S3)


def error_code(error: Any) -> str:
    """Return the code of a ClientError, such as NoSuchKey."""
    return str(error.response.get("Error", {}).get("Code", ""))
