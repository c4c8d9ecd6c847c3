"""Jobs: calls that the service accepts at once, and whose result it keeps for 72 hours after their end."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any, AsyncIterator, Dict, Iterator, Mapping, Optional

import httpx

from ._rest import async_rows, request_of, rows
from ._result import JobResult, ToolInfo, job_result, path_of, result_of
from ._retries import Request
from ._tools import JOB_FILES
from ._transport import AsyncTransport, Transport
from .types import Job, ListJobsQuery

_PATH = "/api/v1/jobs"
_JOB = "/api/v1/jobs/{id}"
# The longest time for which the service holds a request for the state of a job.
_WAIT_S = 60


def _new_job(
    tool: str,
    input: Mapping[str, Any],
    max_credits: Optional[int],
    idempotency_key: Optional[str],
    callback_url: Optional[str],
    metadata: Optional[Mapping[str, str]],
) -> Request:
    body: Dict[str, Any] = {"tool": tool, "input": input}
    if callback_url is not None:
        body["callbackUrl"] = callback_url
    if metadata is not None:
        body["metadata"] = metadata
    key = idempotency_key or str(uuid.uuid4())
    headers = {"Idempotency-Key": key}
    if max_credits is not None:
        headers["X-Max-Credits"] = str(max_credits)
    request = request_of("POST", _PATH, body)
    return replace(request, headers=headers, is_tool=True, idempotency_key=key, always=True)


def _get(id: str, wait: int) -> Request:
    path = path_of(_JOB, id)
    return request_of("GET", f"{path}?wait={wait}" if wait > 0 else path)


def _result(job: Job) -> Request:
    return replace(
        request_of("GET", f"{path_of(_JOB, job['id'])}/result"), is_tool=True, final_code=job["code"]
    )


def _result_of(job: Job, response: httpx.Response) -> JobResult[Any]:
    tool = job["tool"]
    return job_result(result_of(response, None, False), ToolInfo(tool, False), JOB_FILES.get(tool))


class Jobs:
    """Creates jobs, waits for them and reads their results."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        tool: str,
        input: Mapping[str, Any],
        *,
        max_credits: Optional[int] = None,
        idempotency_key: Optional[str] = None,
        callback_url: Optional[str] = None,
        metadata: Optional[Mapping[str, str]] = None,
    ) -> Job:
        """Creates a job that calls a tool by its name. Wrong inputs and an empty balance are errors at once."""
        request = _new_job(tool, input, max_credits, idempotency_key, callback_url, metadata)
        job: Job = self._transport.send(request).json()
        return job

    def get(self, id: str, wait: int = 0) -> Job:
        """Returns a job. With `wait`, the service waits for another state, for at most 60 seconds."""
        job: Job = self._transport.send(_get(id, wait)).json()
        return job

    def list(self, query: Optional[ListJobsQuery] = None) -> Iterator[Job]:
        """Lists jobs, newest first. Fetches page after page while you iterate."""
        return rows(self._transport, _PATH, query)

    def cancel(self, id: str) -> None:
        """Cancels a job that waits or runs."""
        self._transport.send(request_of("DELETE", path_of(_JOB, id)))

    def result(self, job: Job) -> JobResult[Any]:
        """Returns the result of a job that has ended. Raises the error of a job that failed, or `not_finished`."""
        return _result_of(job, self._transport.send(_result(job)))

    def wait(self, job: Job) -> JobResult[Any]:
        """Waits until a job has ended, which can take 24 hours, and returns its result. Raises the error of a job that failed."""
        while job["endedAt"] is None:
            job = self.get(job["id"], _WAIT_S)
        return self.result(job)


class AsyncJobs:
    """Creates jobs, waits for them and reads their results, with asyncio."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(
        self,
        tool: str,
        input: Mapping[str, Any],
        *,
        max_credits: Optional[int] = None,
        idempotency_key: Optional[str] = None,
        callback_url: Optional[str] = None,
        metadata: Optional[Mapping[str, str]] = None,
    ) -> Job:
        """Creates a job that calls a tool by its name. Wrong inputs and an empty balance are errors at once."""
        request = _new_job(tool, input, max_credits, idempotency_key, callback_url, metadata)
        job: Job = (await self._transport.send(request)).json()
        return job

    async def get(self, id: str, wait: int = 0) -> Job:
        """Returns a job. With `wait`, the service waits for another state, for at most 60 seconds."""
        job: Job = (await self._transport.send(_get(id, wait))).json()
        return job

    def list(self, query: Optional[ListJobsQuery] = None) -> AsyncIterator[Job]:
        """Lists jobs, newest first. Fetches page after page while you iterate."""
        return async_rows(self._transport, _PATH, query)

    async def cancel(self, id: str) -> None:
        """Cancels a job that waits or runs."""
        await self._transport.send(request_of("DELETE", path_of(_JOB, id)))

    async def result(self, job: Job) -> JobResult[Any]:
        """Returns the result of a job that has ended. Raises the error of a job that failed, or `not_finished`."""
        return _result_of(job, await self._transport.send(_result(job)))

    async def wait(self, job: Job) -> JobResult[Any]:
        """Waits until a job has ended, which can take 24 hours, and returns its result. Raises the error of a job that failed."""
        while job["endedAt"] is None:
            job = await self.get(job["id"], _WAIT_S)
        return await self.result(job)
