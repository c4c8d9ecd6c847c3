"""Decides whether and when an attempt is repeated. The blocking and the asyncio client share this code."""

from __future__ import annotations

import email.utils
import json
import os
import random
import re
import time
from dataclasses import dataclass
from typing import Any, Dict, Generator, Mapping, Optional, Union

import httpx

from ._errors import ApiConnectionError, ApiError, ApiTimeoutError

DEFAULT_BASE_URL = "http://127.0.0.1:8080"
# The service ends every call within 100 s; an attempt that takes longer has lost its connection.
ATTEMPT_S = 110.0
_MAX_DELAY_S = 8.0
# Error codes after which the same request may succeed within seconds.
_TRANSIENT = {"rate_limited", "pool_busy", "feed_unavailable", "tool_unavailable", "internal"}
# Statuses with which a proxy reports that the service is unreachable or overloaded.
_PROXY_STATUSES = {408, 429, 500, 502, 503, 504}


@dataclass(frozen=True)
class Settings:
    """Settings of a client."""

    authorization: str
    base_url: str
    max_retries: int
    retry_delay: float
    timeout: float


def settings_of(
    api_key: Optional[str],
    key_variable: str,
    base_url: Optional[str],
    max_retries: int,
    retry_delay: float,
    timeout: float,
) -> Settings:
    """Checks the arguments of a client. Without a key or URL, those of the environment apply.

    Raises ValueError if the key or the URL is not valid.
    """
    key = (os.environ.get(key_variable, "") if api_key is None else api_key).strip()
    if not key:
        raise ValueError(
            "The API key is missing. Create one in the dashboard of the service, "
            f"then set {key_variable} or pass it as `api_key`."
        )
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ValueError("The API key contains characters that are not valid in a key. Copy it again from the dashboard.")
    url = (base_url or os.environ.get("UTILITY_TOOLS_URL") or DEFAULT_BASE_URL).rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"The base URL {url!r} is not an http or https URL.")
    return Settings(f"Bearer {key}", url, max_retries, retry_delay, timeout)


@dataclass(frozen=True)
class Request:
    """A request, and the information that decides whether it may be repeated."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    accept: str
    is_tool: bool
    idempotency_key: Optional[str]
    always: bool
    """The request may be repeated even if it has already run: it has an idempotency key, or it is idempotent."""
    key_is_freed: bool
    """The tool has secret fields, so the service rejects a key that it has already seen. It releases the key when it detects
    that the connection of the earlier attempt was lost."""
    final_code: Optional[str] = None
    """Code of an error that every repetition would get again: that of the failed job whose result is requested."""


@dataclass(frozen=True)
class Send:
    """The next step is to send the request, for at most this many seconds."""

    seconds: float


@dataclass(frozen=True)
class Wait:
    """The next step is to wait."""

    seconds: float


Outcome = Union[httpx.Response, httpx.RequestError, None]
Flow = Generator[Union[Send, Wait], Outcome, httpx.Response]


def arguments_of(request: Request, settings: Settings) -> Dict[str, Any]:
    """The arguments of httpx's `request`."""
    arguments: Dict[str, Any] = {
        "method": request.method,
        "url": settings.base_url + request.path,
        "headers": {**request.headers, "Accept": request.accept, "Authorization": settings.authorization},
    }
    if isinstance(request.body, bytes):
        arguments["content"] = request.body
    elif request.body is not None:
        arguments["json"] = request.body
    return arguments


def _retry_after(response: httpx.Response) -> Optional[float]:
    text: Optional[str] = response.headers.get("Retry-After")
    if text is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    try:
        seconds: float = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        return max(0.0, seconds)
    except (TypeError, ValueError, OverflowError):
        return None


def is_complete(response: httpx.Response, accept: str) -> bool:
    if response.status_code == 204:
        return True
    if not response.headers.get("Content-Type", "").startswith(accept):
        return False
    try:
        return accept != "application/json" or response.json() is not None
    except (ValueError, RecursionError):
        return False


def error_of(response: httpx.Response, request: Request) -> Union[ApiError, ApiConnectionError]:
    retry_after = _retry_after(response)
    if response.headers.get("Content-Type", "").startswith("application/problem+json"):
        try:
            return ApiError(
                json.loads(response.text),
                is_tool=request.is_tool,
                retry_after=retry_after,
                idempotency_key=request.idempotency_key,
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
    return ApiConnectionError(
        f"The response has status {response.status_code} and does not come from the Utility Tools API, but from a proxy or "
        "another server. Check the base URL; if it is right, retry later.",
        status=response.status_code,
        retry_after=retry_after,
        idempotency_key=request.idempotency_key,
    )


def _may_retry(error: Union[ApiError, ApiConnectionError], request: Request, is_uncertain: bool) -> bool:
    """After a 429 or 503 from the service itself, the request had no effect; after any other failure, it may have run."""
    if isinstance(error, ApiError):
        if error.code == request.final_code:
            return False
        if error.code == "idempotency_key_used":
            return request.key_is_freed and is_uncertain
        return error.code in _TRANSIENT and (request.always or error.status in (429, 503))
    return request.always and (error.status is None or error.status in _PROXY_STATUSES)


def _advice(request: Request) -> str:
    if not request.is_tool:
        if request.always:
            return "Check the base URL and your network, then repeat the request."
        return "The request may have taken effect. Check before you repeat it."
    if request.idempotency_key is None:
        return "Check the base URL and your network. If the call ran, its price is returned within a minute."
    return (
        "Check the base URL and your network. The call may have run; repeat it with the `idempotency_key` of this error to "
        "get its result without a second charge."
    )


def delay_after(
    error: Union[ApiError, ApiConnectionError],
    request: Request,
    settings: Settings,
    attempt: int,
    is_uncertain: bool,
) -> Optional[float]:
    """Seconds until the next attempt after this error of an attempt, counted from 1; None if there is none."""
    if attempt > settings.max_retries or not _may_retry(error, request, is_uncertain):
        return None
    backoff = min(_MAX_DELAY_S, settings.retry_delay * 2 ** (attempt - 1))
    delay: float = max(error.retry_after or 0.0, backoff * random.uniform(0.5, 1))
    return delay


def flow(request: Request, settings: Settings, timeout: Optional[float]) -> Flow:
    """Yields the next step and receives its outcome. Returns the successful response; raises UtilityToolsError."""
    limit = settings.timeout if timeout is None else timeout
    ends_at = time.monotonic() + limit
    is_uncertain = False
    attempt = 0
    while True:
        attempt += 1
        remaining = ends_at - time.monotonic()
        outcome = yield Send(max(0.001, min(remaining, ATTEMPT_S)))
        error: Union[ApiError, ApiConnectionError]
        if isinstance(outcome, httpx.Response):
            if outcome.is_success and is_complete(outcome, request.accept):
                return outcome
            error = error_of(outcome, request)
        else:
            if time.monotonic() >= ends_at:
                raise ApiTimeoutError(
                    f"The call was not finished within {limit} s."
                    + (
                        ""
                        if request.idempotency_key is None
                        else " If it was running, it continues: repeat it with the `idempotency_key` of this error to get its "
                        "result without a second charge."
                    ),
                    idempotency_key=request.idempotency_key,
                ) from outcome
            error = ApiConnectionError(
                f"No response from {settings.base_url}: {outcome or type(outcome).__name__}. {_advice(request)}",
                idempotency_key=request.idempotency_key,
            )
            error.__cause__ = outcome
        delay = delay_after(error, request, settings, attempt, is_uncertain)
        if delay is None or time.monotonic() + delay >= ends_at:
            raise error
        is_uncertain = is_uncertain or isinstance(error, ApiConnectionError)
        yield Wait(delay)
