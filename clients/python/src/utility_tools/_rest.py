"""Requests other than tool calls, and the rows of lists."""

from __future__ import annotations

from typing import Any, AsyncIterator, Iterator, Mapping, Optional
from urllib.parse import urlencode

from ._retries import Request
from ._transport import AsyncTransport, Transport


def request_of(method: str, path: str, body: Any = None, accept: str = "application/json") -> Request:
    """The request of an operation that is not a tool call."""
    return Request(
        method=method,
        path=path,
        headers={},
        body=body,
        accept=accept,
        is_tool=False,
        idempotency_key=None,
        # A POST creates something each time.
        always=method != "POST",
        key_is_freed=False,
    )


def _page(path: str, query: Optional[Mapping[str, Any]], cursor: Optional[str]) -> Request:
    parameters = {**(query or {}), **({} if cursor is None else {"cursor": cursor})}
    return request_of("GET", f"{path}?{urlencode(parameters)}" if parameters else path)


def rows(transport: Transport, path: str, query: Optional[Mapping[str, Any]]) -> Iterator[Any]:
    """Yields the rows of a list. Fetches page after page."""
    cursor: Optional[str] = None
    while True:
        page = transport.send(_page(path, query, cursor)).json()
        yield from page["items"]
        cursor = page["nextCursor"]
        if cursor is None:
            return


async def async_rows(
    transport: AsyncTransport, path: str, query: Optional[Mapping[str, Any]]
) -> AsyncIterator[Any]:
    """Yields the rows of a list with asyncio. Fetches page after page."""
    cursor: Optional[str] = None
    while True:
        page = (await transport.send(_page(path, query, cursor))).json()
        for row in page["items"]:
            yield row
        cursor = page["nextCursor"]
        if cursor is None:
            return
