"""Client of the Utility Tools API."""

from . import types
from ._account import AsyncUtilityToolsAccount, UtilityToolsAccount
from ._batches import AsyncBatches, Batches
from ._client import AsyncUtilityTools, UtilityTools
from ._errors import (
    ApiConnectionError,
    ApiError,
    ApiTimeoutError,
    Fault,
    UtilityToolsError,
    WebhookVerificationError,
)
from ._files import AsyncFiles, Files
from ._jobs import AsyncJobs, Jobs
from ._remedies import ErrorCode
from ._result import Credits, FileResult, JobResult, Result, ReusedResult, ToolFile
from ._schedules import AsyncSchedules, Schedules
from ._webhooks import verify_webhook

__all__ = [
    "ApiConnectionError",
    "ApiError",
    "ApiTimeoutError",
    "AsyncBatches",
    "AsyncFiles",
    "AsyncJobs",
    "AsyncSchedules",
    "AsyncUtilityTools",
    "AsyncUtilityToolsAccount",
    "Batches",
    "Credits",
    "ErrorCode",
    "Fault",
    "FileResult",
    "Files",
    "JobResult",
    "Jobs",
    "Result",
    "ReusedResult",
    "Schedules",
    "ToolFile",
    "UtilityTools",
    "UtilityToolsAccount",
    "UtilityToolsError",
    "WebhookVerificationError",
    "types",
    "verify_webhook",
]
