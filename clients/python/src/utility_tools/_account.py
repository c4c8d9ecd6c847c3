"""Clients of the Account API."""

from __future__ import annotations

from types import TracebackType
from typing import Any, AsyncIterator, Iterator, Mapping, Optional, Type

from ._account_methods import AccountMethods, AsyncAccountMethods
from ._rest import async_rows, request_of, rows
from ._retries import settings_of
from ._transport import AsyncTransport, Transport

# Environment variable with the key.
_KEY = "UTILITY_TOOLS_ACCOUNT_KEY"
_LEDGER = "/api/v1/account/ledger"


class UtilityToolsAccount(AccountMethods):
    """Client of the Account API. Its key has the scope `account`. The methods raise the same errors as those of the tools.

    The default of `api_key` is the environment variable UTILITY_TOOLS_ACCOUNT_KEY, that of `base_url` UTILITY_TOOLS_URL.
    `timeout` and `retry_delay` are in seconds. Raises ValueError if the key is missing or the URL is not valid.
    """

    def __init__(
        self,
        api_key: Optional[str] = None,
        *,
        base_url: Optional[str] = None,
        max_retries: int = 4,
        retry_delay: float = 0.5,
        timeout: float = 300.0,
    ) -> None:
        self._transport = Transport(
            settings_of(api_key, _KEY, base_url, max_retries, retry_delay, timeout)
        )

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    def __enter__(self) -> UtilityToolsAccount:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def statement(self) -> str:
        """Returns the whole statement as CSV (RFC 4180) with a header line."""
        return self._transport.send(request_of("GET", _LEDGER, accept="text/csv")).text

    def _request(self, method: str, path: str, body: Any = None) -> Any:
        response = self._transport.send(request_of(method, path, body))
        return None if response.status_code == 204 else response.json()

    def _list(self, path: str, query: Optional[Mapping[str, Any]]) -> Iterator[Any]:
        return rows(self._transport, path, query)


class AsyncUtilityToolsAccount(AsyncAccountMethods):
    """Client of the Account API for asyncio. Its key has the scope `account`.

    The default of `api_key` is the environment variable UTILITY_TOOLS_ACCOUNT_KEY, that of `base_url` UTILITY_TOOLS_URL.
    `timeout` and `retry_delay` are in seconds. Raises ValueError if the key is missing or the URL is not valid.
    """

    def __init__(
        self,
        api_key: Optional[str] = None,
        *,
        base_url: Optional[str] = None,
        max_retries: int = 4,
        retry_delay: float = 0.5,
        timeout: float = 300.0,
    ) -> None:
        self._transport = AsyncTransport(
            settings_of(api_key, _KEY, base_url, max_retries, retry_delay, timeout)
        )

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    async def __aenter__(self) -> AsyncUtilityToolsAccount:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def statement(self) -> str:
        """Returns the whole statement as CSV (RFC 4180) with a header line."""
        return (await self._transport.send(request_of("GET", _LEDGER, accept="text/csv"))).text

    async def _request(self, method: str, path: str, body: Any = None) -> Any:
        response = await self._transport.send(request_of(method, path, body))
        return None if response.status_code == 204 else response.json()

    def _list(self, path: str, query: Optional[Mapping[str, Any]]) -> AsyncIterator[Any]:
        return async_rows(self._transport, path, query)
