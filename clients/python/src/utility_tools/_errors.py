"""Errors that the clients raise."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, TypedDict, Union

from ._remedies import REMEDIES, ErrorCode


class Fault(TypedDict):
    """One fault of the input."""

    pointer: str
    """JSON Pointer (RFC 6901) into the input, such as `/text`."""
    message: str


class UtilityToolsError(Exception):
    """Base class of all errors of this package."""

    def __init__(self, message: str, *, idempotency_key: Optional[str] = None) -> None:
        super().__init__(message)
        self.idempotency_key = idempotency_key
        """Key of the call, if it was sent with one. Repeating the call with it within 24 hours returns the result if there
        is one, without a second charge."""


def _describe(problem: Mapping[str, Any], is_tool: bool) -> str:
    detail = str(problem["detail"])
    faults: List[Fault] = problem.get("errors", [])
    if faults:
        lines = [f"\n  {fault['pointer'] or '(input)'} {fault['message']}" for fault in faults]
        if problem.get("moreErrors"):
            lines.append(f"\n  and {problem['moreErrors']} more")
        remedy = "".join(lines) + "\nCorrect these fields."
        detail = detail.replace(' "errors" lists the faults.', "")
    else:
        remedy = " " + REMEDIES.get(problem["code"], "")
    if "available" in problem:
        detail += f" The call costs {problem.get('cost')}; {problem['available']} are available."
    if is_tool and "charged" not in detail:
        detail += " Nothing was charged."
    return f"{detail}{remedy.rstrip()} [{problem['code']}, request {problem.get('requestId')}]"


class ApiError(UtilityToolsError):
    """The service rejected the request. Branch on `code`; its meaning is stable."""

    def __init__(
        self,
        problem: Mapping[str, Any],
        *,
        is_tool: bool,
        retry_after: Optional[float],
        idempotency_key: Optional[str],
    ) -> None:
        super().__init__(_describe(problem, is_tool), idempotency_key=idempotency_key)
        self.code: Union[ErrorCode, str] = problem["code"]
        self.status: int = problem["status"]
        self.title: str = problem["title"]
        self.detail: str = problem["detail"]
        self.request_id: str = problem["requestId"]
        self.faults: List[Fault] = problem.get("errors", [])
        """Faults of the input, with `invalid_input`."""
        self.more_faults: int = problem.get("moreErrors", 0)
        """Number of faults that `faults` does not list."""
        self.available: Optional[int] = problem.get("available")
        """Credits that can be spent, with `insufficient_credits`."""
        self.cost: Optional[int] = problem.get("cost")
        """Price of the call, with `insufficient_credits` and `key_budget_exceeded`."""
        self.budget: Optional[Mapping[str, Any]] = problem.get("budget")
        """The exceeded budget of the API key, with `key_budget_exceeded`: `period`, `credits`, `spent`, `resetsAt`."""
        self.retry_after = retry_after
        """Seconds after which the service suggests a retry."""


class ApiConnectionError(UtilityToolsError):
    """No usable response arrived: the connection failed or was lost, or an intermediary such as a proxy responded."""

    def __init__(
        self,
        message: str,
        *,
        idempotency_key: Optional[str] = None,
        status: Optional[int] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(message, idempotency_key=idempotency_key)
        self.status = status
        """Status of the response, if there was one."""
        self.retry_after = retry_after


class ApiTimeoutError(UtilityToolsError):
    """The call was not finished within its timeout."""


class WebhookVerificationError(UtilityToolsError):
    """A delivery whose signature, time or body is not genuine."""
