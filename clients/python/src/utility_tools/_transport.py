"""Runs the steps of a request with httpx, blocking or with asyncio."""

from __future__ import annotations

import asyncio
import re
import time
from typing import AsyncIterator, Dict, Iterator, List, Optional, Union

import httpx

from ._errors import ApiConnectionError, ApiError
from ._retries import (
    ATTEMPT_S,
    Outcome,
    Request,
    Send,
    Settings,
    arguments_of,
    delay_after,
    error_of,
    flow,
    is_complete,
)


class _Lines:
    """Splits bytes at line feeds. JSON may contain other characters that end lines elsewhere."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._parts: List[bytes] = []

    def take(self, chunk: bytes) -> Iterator[bytes]:
        first, *others = chunk.split(b"\n")
        self._parts.append(first)
        for part in others:
            yield b"".join(self._parts)
            self._parts = [part]

    def end(self) -> None:
        if b"".join(self._parts):
            raise self.failure("the response ended within a line")

    def failure(self, reason: object) -> ApiConnectionError:
        return ApiConnectionError(f"No complete response from {self._settings.base_url}: {reason}.")


class Download:
    """A file that is downloaded: what has arrived of it, and what is missing."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.failures = 0
        self._parts: List[bytes] = []
        self._received = 0
        self._whole = -1
        self._etag: Optional[str] = None

    def headers(self) -> Dict[str, str]:
        """Asks for what has not arrived, if the file is still the same; else for all of it."""
        identity = {"Accept-Encoding": "identity"}
        if self._etag is None or self._received == 0:
            return identity
        return {**identity, "Range": f"bytes={self._received}-", "If-Range": self._etag}

    def begin(self, response: httpx.Response) -> None:
        """Takes the headers of a response with the file, or with the rest of it."""
        part = re.match(r"bytes (\d+)-\d+/(\d+)$", response.headers.get("Content-Range", ""))
        if response.status_code == 200:
            self._parts, self._received = [], 0
        elif part is None or int(part[1]) != self._received:
            raise ApiConnectionError("The response has another part of the file.")
        self._whole = int(response.headers.get("Content-Length", -1) if part is None else part[2])
        self._etag = response.headers.get("ETag")

    def take(self, chunk: bytes) -> None:
        self._parts.append(chunk)
        self._received += len(chunk)
        self.failures = 0

    def content(self) -> bytes:
        """The file. Raises ApiConnectionError if a part is missing."""
        if self._received != self._whole:
            raise ApiConnectionError("The response ended before the file.")
        return b"".join(self._parts)


# Without a key, which the address does not need.
_FILE = Request(
    method="GET",
    path="",
    headers={},
    body=None,
    accept="",
    is_tool=False,
    idempotency_key=None,
    always=True,
    key_is_freed=False,
)


def _lost(error: httpx.RequestError) -> ApiConnectionError:
    return ApiConnectionError(f"The file was not downloaded: {error or type(error).__name__}.")


class Transport:
    """Sends requests, blocking."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._http = httpx.Client()

    def close(self) -> None:
        self._http.close()

    def _attempt(self, request: Request, seconds: float) -> Outcome:
        try:
            return self._http.request(**arguments_of(request, self._settings), timeout=seconds)
        except httpx.RequestError as error:
            return error

    def send(self, request: Request, timeout: Optional[float] = None) -> httpx.Response:
        """Sends a request and repeats it if that is safe. Raises UtilityToolsError."""
        steps = flow(request, self._settings, timeout)
        outcome: Outcome = None
        try:
            while True:
                step = steps.send(outcome)
                outcome = None
                if isinstance(step, Send):
                    outcome = self._attempt(request, step.seconds)
                else:
                    time.sleep(step.seconds)
        except StopIteration as stop:
            response: httpx.Response = stop.value
            return response


    def lines(self, request: Request) -> Iterator[bytes]:
        """Sends a request once and yields the lines of the response as they arrive. Raises ApiError and ApiConnectionError."""
        lines = _Lines(self._settings)
        try:
            with self._http.stream(**arguments_of(request, self._settings), timeout=ATTEMPT_S) as response:
                if not response.is_success or not is_complete(response, request.accept):
                    response.read()
                    raise error_of(response, request)
                for chunk in response.iter_bytes():
                    yield from lines.take(chunk)
        except httpx.RequestError as error:
            raise lines.failure(error or type(error).__name__) from error
        lines.end()

    def file(self, download: Download) -> bytes:
        """Sends a request for what is missing of a file, and returns the file. Raises ApiError and ApiConnectionError."""
        try:
            with self._http.stream("GET", download.url, headers=download.headers(), timeout=ATTEMPT_S) as response:
                if response.status_code not in (200, 206):
                    response.read()
                    raise error_of(response, _FILE)
                download.begin(response)
                for chunk in response.iter_raw():
                    download.take(chunk)
        except httpx.RequestError as error:
            raise _lost(error) from error
        return download.content()

    def delay_of(self, download: Download, error: Union[ApiError, ApiConnectionError]) -> float:
        """Seconds until a download is continued after this error, which is raised if it is not."""
        download.failures += 1
        delay = self.delay_after(error, _FILE, download.failures)
        if delay is None:
            raise error
        return delay

    def delay_after(
        self, error: Union[ApiError, ApiConnectionError], request: Request, attempt: int
    ) -> Optional[float]:
        """Seconds until an idempotent request is repeated after its failure; None if it is not."""
        return delay_after(error, request, self._settings, attempt, False)


class AsyncTransport:
    """Sends requests with asyncio."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._http = httpx.AsyncClient()

    async def close(self) -> None:
        await self._http.aclose()

    async def _attempt(self, request: Request, seconds: float) -> Outcome:
        try:
            return await self._http.request(**arguments_of(request, self._settings), timeout=seconds)
        except httpx.RequestError as error:
            return error

    async def send(self, request: Request, timeout: Optional[float] = None) -> httpx.Response:
        """Sends a request and repeats it if that is safe. Raises UtilityToolsError."""
        steps = flow(request, self._settings, timeout)
        outcome: Outcome = None
        try:
            while True:
                step = steps.send(outcome)
                outcome = None
                if isinstance(step, Send):
                    outcome = await self._attempt(request, step.seconds)
                else:
                    await asyncio.sleep(step.seconds)
        except StopIteration as stop:
            response: httpx.Response = stop.value
            return response

    async def lines(self, request: Request) -> AsyncIterator[bytes]:
        """Sends a request once and yields the lines of the response as they arrive. Raises ApiError and ApiConnectionError."""
        lines = _Lines(self._settings)
        try:
            async with self._http.stream(**arguments_of(request, self._settings), timeout=ATTEMPT_S) as response:
                if not response.is_success or not is_complete(response, request.accept):
                    await response.aread()
                    raise error_of(response, request)
                async for chunk in response.aiter_bytes():
                    for line in lines.take(chunk):
                        yield line
        except httpx.RequestError as error:
            raise lines.failure(error or type(error).__name__) from error
        lines.end()

    async def file(self, download: Download) -> bytes:
        """Sends a request for what is missing of a file, and returns the file. Raises ApiError and ApiConnectionError."""
        try:
            async with self._http.stream("GET", download.url, headers=download.headers(), timeout=ATTEMPT_S) as response:
                if response.status_code not in (200, 206):
                    await response.aread()
                    raise error_of(response, _FILE)
                download.begin(response)
                async for chunk in response.aiter_raw():
                    download.take(chunk)
        except httpx.RequestError as error:
            raise _lost(error) from error
        return download.content()

    def delay_of(self, download: Download, error: Union[ApiError, ApiConnectionError]) -> float:
        """Seconds until a download is continued after this error, which is raised if it is not."""
        download.failures += 1
        delay = self.delay_after(error, _FILE, download.failures)
        if delay is None:
            raise error
        return delay

    def delay_after(
        self, error: Union[ApiError, ApiConnectionError], request: Request, attempt: int
    ) -> Optional[float]:
        """Seconds until an idempotent request is repeated after its failure; None if it is not."""
        return delay_after(error, request, self._settings, attempt, False)
