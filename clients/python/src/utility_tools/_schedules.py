"""Schedules: jobs and batches that the service repeats, and whose results it can compare."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any, AsyncIterator, Iterator, Mapping, Optional, Sequence

from ._rest import async_rows, request_of, rows
from ._result import path_of
from ._retries import Request
from ._transport import AsyncTransport, Transport
from .types import Schedule, ScheduleBackfillResult, ScheduleCallback, ScheduleRun

_PATH = "/api/v1/schedules"
_SCHEDULE = "/api/v1/schedules/{id}"


def _repeatable(path: str, body: Any, idempotency_key: Optional[str]) -> Request:
    """A POST request that can be repeated."""
    key = idempotency_key or str(uuid.uuid4())
    request = request_of("POST", path, body)
    return replace(request, headers={"Idempotency-Key": key}, idempotency_key=key, always=True)


def _backfill(id: str, start: str, end: str) -> Request:
    request = request_of("POST", f"{path_of(_SCHEDULE, id)}/backfill", {"from": start, "to": end})
    # Can be repeated: only times that have no run yet get one.
    return replace(request, always=True)


def _resend(id: str, callback_ids: Optional[Sequence[str]]) -> Request:
    body = {} if callback_ids is None else {"callbackIds": list(callback_ids)}
    return request_of("POST", f"{path_of(_SCHEDULE, id)}/callbacks/resend", body)


class Schedules:
    """Creates, changes and triggers schedules, and lists their runs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, schedule: Mapping[str, Any], *, idempotency_key: Optional[str] = None) -> Schedule:
        """Creates a schedule. Wrong inputs and times are errors at once."""
        created: Schedule = self._transport.send(_repeatable(_PATH, schedule, idempotency_key)).json()
        return created

    def get(self, id: str) -> Schedule:
        """Returns a schedule."""
        schedule: Schedule = self._transport.send(request_of("GET", path_of(_SCHEDULE, id))).json()
        return schedule

    def list(self) -> Iterator[Schedule]:
        """Lists schedules, newest first. Fetches page after page while you iterate."""
        return rows(self._transport, _PATH, None)

    def change(self, id: str, change: Mapping[str, Any]) -> Schedule:
        """Changes a schedule, which from then on runs with the key of this client. `{"paused": True}` pauses it."""
        schedule: Schedule = self._transport.send(request_of("PATCH", path_of(_SCHEDULE, id), change)).json()
        return schedule

    def delete(self, id: str) -> None:
        """Deletes a schedule. Jobs and batches that it has created continue."""
        self._transport.send(request_of("DELETE", path_of(_SCHEDULE, id)))

    def runs(self, id: str) -> Iterator[ScheduleRun]:
        """Lists the runs of a schedule by their times, the latest first."""
        return rows(self._transport, f"{path_of(_SCHEDULE, id)}/runs", None)

    def trigger(self, id: str, *, idempotency_key: Optional[str] = None) -> ScheduleRun:
        """Adds a run now."""
        path = f"{path_of(_SCHEDULE, id)}/trigger"
        run: ScheduleRun = self._transport.send(_repeatable(path, None, idempotency_key)).json()
        return run

    def callbacks(self, id: str) -> Iterator[ScheduleCallback]:
        """Lists the callbacks of a schedule with their attempts, newest first."""
        return rows(self._transport, f"{path_of(_SCHEDULE, id)}/callbacks", None)

    def resend_callbacks(self, id: str, callback_ids: Optional[Sequence[str]] = None) -> int:
        """Sends callbacks again: these, or the newest that failed. Returns how many."""
        queued: int = self._transport.send(_resend(id, callback_ids)).json()["queued"]
        return queued

    def backfill(self, id: str, start: str, end: str) -> ScheduleBackfillResult:
        """Adds a run for each past time from `start` to `end` (ISO 8601) that has none. Can be repeated."""
        result: ScheduleBackfillResult = self._transport.send(_backfill(id, start, end)).json()
        return result


class AsyncSchedules:
    """Creates, changes and triggers schedules, and lists their runs, with asyncio."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(self, schedule: Mapping[str, Any], *, idempotency_key: Optional[str] = None) -> Schedule:
        """Creates a schedule. Wrong inputs and times are errors at once."""
        created: Schedule = (await self._transport.send(_repeatable(_PATH, schedule, idempotency_key))).json()
        return created

    async def get(self, id: str) -> Schedule:
        """Returns a schedule."""
        schedule: Schedule = (await self._transport.send(request_of("GET", path_of(_SCHEDULE, id)))).json()
        return schedule

    def list(self) -> AsyncIterator[Schedule]:
        """Lists schedules, newest first. Fetches page after page while you iterate."""
        return async_rows(self._transport, _PATH, None)

    async def change(self, id: str, change: Mapping[str, Any]) -> Schedule:
        """Changes a schedule, which from then on runs with the key of this client. `{"paused": True}` pauses it."""
        schedule: Schedule = (await self._transport.send(request_of("PATCH", path_of(_SCHEDULE, id), change))).json()
        return schedule

    async def delete(self, id: str) -> None:
        """Deletes a schedule. Jobs and batches that it has created continue."""
        await self._transport.send(request_of("DELETE", path_of(_SCHEDULE, id)))

    def runs(self, id: str) -> AsyncIterator[ScheduleRun]:
        """Lists the runs of a schedule by their times, the latest first."""
        return async_rows(self._transport, f"{path_of(_SCHEDULE, id)}/runs", None)

    async def trigger(self, id: str, *, idempotency_key: Optional[str] = None) -> ScheduleRun:
        """Adds a run now."""
        path = f"{path_of(_SCHEDULE, id)}/trigger"
        run: ScheduleRun = (await self._transport.send(_repeatable(path, None, idempotency_key))).json()
        return run

    def callbacks(self, id: str) -> AsyncIterator[ScheduleCallback]:
        """Lists the callbacks of a schedule with their attempts, newest first."""
        return async_rows(self._transport, f"{path_of(_SCHEDULE, id)}/callbacks", None)

    async def resend_callbacks(self, id: str, callback_ids: Optional[Sequence[str]] = None) -> int:
        """Sends callbacks again: these, or the newest that failed. Returns how many."""
        queued: int = (await self._transport.send(_resend(id, callback_ids))).json()["queued"]
        return queued

    async def backfill(self, id: str, start: str, end: str) -> ScheduleBackfillResult:
        """Adds a run for each past time from `start` to `end` (ISO 8601) that has none. Can be repeated."""
        result: ScheduleBackfillResult = (await self._transport.send(_backfill(id, start, end))).json()
        return result
