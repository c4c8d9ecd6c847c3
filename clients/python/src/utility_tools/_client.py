"""Clients of the tools."""

from __future__ import annotations

import uuid
from types import TracebackType
from typing import Any, Dict, Optional, Tuple, Type

from ._batches import AsyncBatches, Batches
from ._files import AsyncFiles, Files
from ._jobs import AsyncJobs, Jobs
from ._result import CallOptions, FileFields, FileResult, Result, ToolInfo, result_of, with_file
from ._retries import Request, settings_of
from ._schedules import AsyncSchedules, Schedules
from ._tools import AsyncToolMethods, ToolMethods
from ._transport import AsyncTransport, Transport

# Environment variable with the key.
_KEY = "UTILITY_TOOLS_API_KEY"


def _request_of(tool: ToolInfo, input: Any, options: CallOptions) -> Tuple[Request, bool]:
    """Returns the request of a call, and whether the client generated its idempotency key."""
    own_key = options.idempotency_key is None
    key = str(uuid.uuid4()) if own_key else options.idempotency_key or None
    headers: Dict[str, str] = {}
    if key is not None:
        headers["Idempotency-Key"] = key
    if options.max_credits is not None:
        headers["X-Max-Credits"] = str(options.max_credits)
    request = Request(
        method="POST",
        path=f"/api/v1/tools/{tool.name}",
        headers=headers,
        body=input,
        accept="application/json",
        is_tool=True,
        idempotency_key=key,
        always=key is not None,
        key_is_freed=tool.has_secrets and own_key,
    )
    return request, own_key


class UtilityTools(ToolMethods):
    """Client of the tools. Its methods raise ApiError, ApiConnectionError and ApiTimeoutError.

    The default of `api_key` is the environment variable UTILITY_TOOLS_API_KEY, that of `base_url` UTILITY_TOOLS_URL.
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
        self.files = Files(self._transport)
        """Uploaded files, whose ids every field `fileUrl` takes."""
        self.jobs = Jobs(self._transport)
        """Calls that run later and whose results wait for you."""
        self.batches = Batches(self._transport)
        """Many calls in one request."""
        self.schedules = Schedules(self._transport)
        """Jobs and batches that repeat."""

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    def __enter__(self) -> UtilityTools:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def _run(self, tool: ToolInfo, input: Any, options: CallOptions) -> Result[Any]:
        request, own_key = _request_of(tool, input, options)
        return result_of(self._transport.send(request, options.timeout), request.idempotency_key, own_key)

    def _run_for_file(
        self, tool: ToolInfo, fields: FileFields, input: Any, options: CallOptions
    ) -> FileResult[Any]:
        return with_file(self._run(tool, input, options), tool, fields)


class AsyncUtilityTools(AsyncToolMethods):
    """Client of the tools for asyncio. Its methods raise ApiError, ApiConnectionError and ApiTimeoutError.

    The default of `api_key` is the environment variable UTILITY_TOOLS_API_KEY, that of `base_url` UTILITY_TOOLS_URL.
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
        self.files = AsyncFiles(self._transport)
        """Uploaded files, whose ids every field `fileUrl` takes."""
        self.jobs = AsyncJobs(self._transport)
        """Calls that run later and whose results wait for you."""
        self.batches = AsyncBatches(self._transport)
        """Many calls in one request."""
        self.schedules = AsyncSchedules(self._transport)
        """Jobs and batches that repeat."""

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    async def __aenter__(self) -> AsyncUtilityTools:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def _run(self, tool: ToolInfo, input: Any, options: CallOptions) -> Result[Any]:
        request, own_key = _request_of(tool, input, options)
        return result_of(await self._transport.send(request, options.timeout), request.idempotency_key, own_key)

    async def _run_for_file(
        self, tool: ToolInfo, fields: FileFields, input: Any, options: CallOptions
    ) -> FileResult[Any]:
        return with_file(await self._run(tool, input, options), tool, fields)
