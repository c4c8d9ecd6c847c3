"""Runs the steps of a request with httpx, blocking or with asyncio."""

from __future__ import annotations

import asyncio
import time
from typing import Optional

import httpx

from ._retries import Outcome, Request, Send, Settings, arguments_of, flow


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
