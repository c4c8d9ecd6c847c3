"""Batches: up to 50,000 calls in one request, whose results the service keeps for 72 hours after their ends."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from dataclasses import replace
from typing import Any, AsyncIterator, Callable, Dict, Iterator, Literal, Mapping, Optional, Sequence, Union
from urllib.parse import urlencode

from ._errors import ApiConnectionError, ApiError
from ._rest import async_rows, request_of, rows
from ._result import path_of
from ._retries import Request
from ._transport import AsyncTransport, Transport
from .types import Batch, BatchManifest, ListBatchesQuery

_PATH = "/api/v1/batches"
_BATCH = "/api/v1/batches/{id}"
_NDJSON = "application/x-ndjson"
# Seconds between two requests for the state of a batch.
_POLL_S = 1.0

Order = Literal["input", "completion"]
FileType = Literal["text/csv", "application/x-ndjson"]


def _created(request: Request, idempotency_key: Optional[str], headers: Mapping[str, str]) -> Request:
    key = idempotency_key or str(uuid.uuid4())
    return replace(
        request, headers={**headers, "Idempotency-Key": key}, is_tool=True, idempotency_key=key, always=True
    )


def _new_batch(
    tool: str,
    inputs: Sequence[Mapping[str, Any]],
    idempotency_key: Optional[str],
    options: Mapping[str, Any],
) -> Request:
    given = {name: value for name, value in options.items() if value is not None}
    return _created(request_of("POST", _PATH, {"tool": tool, **given, "inputs": list(inputs)}), idempotency_key, {})


def _new_batch_from_file(
    content: bytes, type: FileType, idempotency_key: Optional[str], options: Mapping[str, Any]
) -> Request:
    query = urlencode({name: value for name, value in options.items() if value is not None})
    request = request_of("POST", f"{_PATH}?{query}" if query else _PATH, content)
    return _created(request, idempotency_key, {"Content-Type": type})


def _options(
    max_credits: Optional[int],
    on_empty_balance: Optional[str],
    callback_url: Optional[str],
) -> Dict[str, Any]:
    return {"maxCredits": max_credits, "onEmptyBalance": on_empty_balance, "callbackUrl": callback_url}


class _Reading:
    """A download of results: where it is, and whether it may be continued."""

    def __init__(self, id: str, order: Order, after: Optional[int]) -> None:
        self._path = f"{path_of(_BATCH, id)}/results"
        self._order = order
        self._last = after
        self._failures = 0

    def request(self) -> Request:
        """The request for the rows that have not arrived yet."""
        query: Dict[str, Union[str, int]] = {"order": self._order}
        if self._last is not None:
            query["after"] = self._last
        return request_of("GET", f"{self._path}?{urlencode(query)}", accept=_NDJSON)

    def row(self, line: bytes) -> Dict[str, Any]:
        """Parses a row that has arrived."""
        row: Dict[str, Any] = json.loads(line)
        position = row["row"] if self._order == "input" else row["seq"]
        self._last = self._last if position is None else position
        self._failures = 0
        return row

    def delay_after(self, error: Union[ApiError, ApiConnectionError], transport: Union[Transport, AsyncTransport]) -> float:
        """Seconds until the download is continued after this error, which is raised if it is not."""
        self._failures += 1
        delay = transport.delay_after(error, self.request(), self._failures)
        if delay is None:
            raise error
        return delay


def _is_over(batch: Batch) -> bool:
    return batch["endedAt"] is not None or batch["state"] == "paused"


class Batches:
    """Creates batches, waits for them and reads their results."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        tool: str,
        inputs: Sequence[Mapping[str, Any]],
        *,
        max_credits: Optional[int] = None,
        on_empty_balance: Optional[Literal["pause", "stop"]] = None,
        callback_url: Optional[str] = None,
        metadata: Optional[Mapping[str, str]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Batch:
        """Creates a batch that calls one tool with each of these inputs. If one is wrong, nothing runs."""
        options = {**_options(max_credits, on_empty_balance, callback_url), "metadata": metadata}
        batch: Batch = self._transport.send(_new_batch(tool, inputs, idempotency_key, options)).json()
        return batch

    def create_from_file(
        self,
        content: bytes,
        type: FileType,
        *,
        tool: Optional[str] = None,
        max_credits: Optional[int] = None,
        on_empty_balance: Optional[Literal["pause", "stop"]] = None,
        callback_url: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Batch:
        """Creates a batch from CSV for one `tool`, or NDJSON with a line of `{ id, tool, input }` for each row."""
        options = {**_options(max_credits, on_empty_balance, callback_url), "tool": tool}
        batch: Batch = self._transport.send(_new_batch_from_file(content, type, idempotency_key, options)).json()
        return batch

    def get(self, id: str) -> Batch:
        """Returns a batch."""
        batch: Batch = self._transport.send(request_of("GET", path_of(_BATCH, id))).json()
        return batch

    def list(self, query: Optional[ListBatchesQuery] = None) -> Iterator[Batch]:
        """Lists batches, newest first. Fetches page after page while you iterate."""
        return rows(self._transport, _PATH, query)

    def wait(self, id: str, on_progress: Optional[Callable[[Batch], None]] = None) -> Batch:
        """Waits until a batch has ended, which can take 72 hours, or is paused. `on_progress` is called with each state."""
        while True:
            batch = self.get(id)
            if on_progress is not None:
                on_progress(batch)
            if _is_over(batch):
                return batch
            time.sleep(_POLL_S)

    def results(self, id: str, *, order: Order = "input", after: Optional[int] = None) -> Iterator[Dict[str, Any]]:
        """Yields the rows that have ended as they arrive, also while the batch runs.

        In the order of the input, they end at the first row that has not ended; in that of completion, there are all of them.
        `after` is the last `row`, or in the order of completion the last `seq`, that you have. Continues after a lost connection.
        """
        reading = _Reading(id, order, after)
        while True:
            try:
                for line in self._transport.lines(reading.request()):
                    yield reading.row(line)
                return
            except (ApiError, ApiConnectionError) as error:
                delay = reading.delay_after(error, self._transport)
            time.sleep(delay)

    def manifest(self, id: str) -> BatchManifest:
        """Returns the sums and digests of a batch that has ended."""
        manifest: BatchManifest = self._transport.send(request_of("GET", f"{path_of(_BATCH, id)}/manifest")).json()
        return manifest

    def pause(self, id: str) -> Batch:
        """Lets no further row start. Running rows finish."""
        request = replace(request_of("POST", f"{path_of(_BATCH, id)}/pause"), always=True)
        batch: Batch = self._transport.send(request).json()
        return batch

    def resume(self, id: str, max_credits: Optional[int] = None) -> Batch:
        """Continues a batch that is paused, if wanted with another limit of credits."""
        body = {} if max_credits is None else {"maxCredits": max_credits}
        request = replace(request_of("POST", f"{path_of(_BATCH, id)}/resume", body), always=True)
        batch: Batch = self._transport.send(request).json()
        return batch

    def cancel(self, id: str) -> None:
        """Cancels the waiting rows. Running rows finish, and results of rows that have ended are kept."""
        self._transport.send(request_of("DELETE", path_of(_BATCH, id)))


class AsyncBatches:
    """Creates batches, waits for them and reads their results, with asyncio."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(
        self,
        tool: str,
        inputs: Sequence[Mapping[str, Any]],
        *,
        max_credits: Optional[int] = None,
        on_empty_balance: Optional[Literal["pause", "stop"]] = None,
        callback_url: Optional[str] = None,
        metadata: Optional[Mapping[str, str]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Batch:
        """Creates a batch that calls one tool with each of these inputs. If one is wrong, nothing runs."""
        options = {**_options(max_credits, on_empty_balance, callback_url), "metadata": metadata}
        batch: Batch = (await self._transport.send(_new_batch(tool, inputs, idempotency_key, options))).json()
        return batch

    async def create_from_file(
        self,
        content: bytes,
        type: FileType,
        *,
        tool: Optional[str] = None,
        max_credits: Optional[int] = None,
        on_empty_balance: Optional[Literal["pause", "stop"]] = None,
        callback_url: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Batch:
        """Creates a batch from CSV for one `tool`, or NDJSON with a line of `{ id, tool, input }` for each row."""
        options = {**_options(max_credits, on_empty_balance, callback_url), "tool": tool}
        request = _new_batch_from_file(content, type, idempotency_key, options)
        batch: Batch = (await self._transport.send(request)).json()
        return batch

    async def get(self, id: str) -> Batch:
        """Returns a batch."""
        batch: Batch = (await self._transport.send(request_of("GET", path_of(_BATCH, id)))).json()
        return batch

    def list(self, query: Optional[ListBatchesQuery] = None) -> AsyncIterator[Batch]:
        """Lists batches, newest first. Fetches page after page while you iterate."""
        return async_rows(self._transport, _PATH, query)

    async def wait(self, id: str, on_progress: Optional[Callable[[Batch], None]] = None) -> Batch:
        """Waits until a batch has ended, which can take 72 hours, or is paused. `on_progress` is called with each state."""
        while True:
            batch = await self.get(id)
            if on_progress is not None:
                on_progress(batch)
            if _is_over(batch):
                return batch
            await asyncio.sleep(_POLL_S)

    async def results(
        self, id: str, *, order: Order = "input", after: Optional[int] = None
    ) -> AsyncIterator[Dict[str, Any]]:
        """Yields the rows that have ended as they arrive, also while the batch runs.

        In the order of the input, they end at the first row that has not ended; in that of completion, there are all of them.
        `after` is the last `row`, or in the order of completion the last `seq`, that you have. Continues after a lost connection.
        """
        reading = _Reading(id, order, after)
        while True:
            try:
                async for line in self._transport.lines(reading.request()):
                    yield reading.row(line)
                return
            except (ApiError, ApiConnectionError) as error:
                delay = reading.delay_after(error, self._transport)
            await asyncio.sleep(delay)

    async def manifest(self, id: str) -> BatchManifest:
        """Returns the sums and digests of a batch that has ended."""
        request = request_of("GET", f"{path_of(_BATCH, id)}/manifest")
        manifest: BatchManifest = (await self._transport.send(request)).json()
        return manifest

    async def pause(self, id: str) -> Batch:
        """Lets no further row start. Running rows finish."""
        request = replace(request_of("POST", f"{path_of(_BATCH, id)}/pause"), always=True)
        batch: Batch = (await self._transport.send(request)).json()
        return batch

    async def resume(self, id: str, max_credits: Optional[int] = None) -> Batch:
        """Continues a batch that is paused, if wanted with another limit of credits."""
        body = {} if max_credits is None else {"maxCredits": max_credits}
        request = replace(request_of("POST", f"{path_of(_BATCH, id)}/resume", body), always=True)
        batch: Batch = (await self._transport.send(request)).json()
        return batch

    async def cancel(self, id: str) -> None:
        """Cancels the waiting rows. Running rows finish, and results of rows that have ended are kept."""
        await self._transport.send(request_of("DELETE", path_of(_BATCH, id)))
