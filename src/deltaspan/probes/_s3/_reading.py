"""Asking S3: a list to its end, an object as a stream, and whether it is S3 that has answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, Final

from botocore.exceptions import ClientError  # type: ignore[import-untyped]

__all__ = ["S3ReadError", "code_of", "fetched", "listed", "of_a_store"]

_NO_STORE: Final = "what answers is no S3: look at the client's endpoint_url, and at proxies in between"


class S3ReadError(Exception):
    """Why a store that answers was not read all the same."""


def listed(client: Any, bucket: str, prefix: str, most: int, instead: str) -> Iterator[Any]:
    """Give the objects below a prefix, page after page.

    Raises:
        S3ReadError: there are more than `most`, or what answers is no list, or one without its end.
    """
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    told, goes_on = 0, False
    for page in pages:
        # Whatever answers with 200, such as a page to log in, reads as an empty list.
        if "Name" not in page and "IsTruncated" not in page:
            raise S3ReadError(_NO_STORE)
        goes_on = page.get("IsTruncated", False)
        found = page.get("Contents", ())
        told += len(found)
        if told > most:
            raise S3ReadError(f"there are more than {most} objects: {instead}")
        yield from found
    if goes_on:
        raise S3ReadError(
            f"the store does not say where its list goes on after {told} objects, as it has to for "
            f"ListObjectsV2: narrow the prefix"
        )


def fetched(client: Any, bucket: str, key: str, use: Callable[[Any], str], *, missing_ok: bool) -> str | None:
    """Return what `use` makes of an object that is fetched; None where there is none and that may be.

    Raises:
        S3ReadError: what answers is no store.
    """
    try:
        found = client.get_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if missing_ok and code_of(error) == "NoSuchKey":
            return None
        raise
    with closing(found["Body"]):
        of_a_store(found)
        return use(found)


def of_a_store(found: Any) -> None:
    """Refuse an answer that S3 would not give of an object.

    Raises:
        S3ReadError: it has no ETag.
    """
    if not found.get("ETag"):
        raise S3ReadError(_NO_STORE)


def code_of(error: Any) -> str:
    """Return the code of a ClientError, such as NoSuchKey."""
    return str(error.response.get("Error", {}).get("Code", ""))
