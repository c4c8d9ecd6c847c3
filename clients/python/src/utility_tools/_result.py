"""Options and results of calls."""

from __future__ import annotations

import base64
import os
import re
import reprlib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Generic, Literal, Optional, TypeVar, Union
from urllib.parse import quote

import httpx

T = TypeVar("T")

# Files in outputs are strings of megabytes, which would fill logs and terminals.
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 200
_SHORT.maxdict = _SHORT.maxlist = 50
_SHORT.maxlevel = 8

_EXTENSIONS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "application/pdf": "pdf"}


@dataclass(frozen=True)
class ToolInfo:
    """The properties of a tool that the client needs."""

    name: str
    has_secrets: bool
    """True if the input has secret fields. The service does not store such calls, so they cannot be replayed."""


@dataclass(frozen=True)
class FileFields:
    """The output fields that form a file."""

    data: str
    mime_type: str
    file_name: Optional[str]


@dataclass(frozen=True)
class CallOptions:
    """Options of one call."""

    max_credits: Optional[int]
    timeout: Optional[float]
    idempotency_key: Union[str, Literal[False], None]


@dataclass(frozen=True)
class Credits:
    """The credits of a call."""

    cost: int
    """Price of the call."""
    charged: int
    """Credits charged for this call, over all its attempts."""
    left: Optional[int]
    """Credits available for further calls; None if the response does not include them."""


@dataclass(frozen=True)
class ReusedResult:
    """The earlier call that gave a result."""

    call_id: str
    age_seconds: int


@dataclass(frozen=True)
class ToolFile:
    """A file that a tool created."""

    content: bytes = field(repr=False)
    """Empty if the call asked for the address of the file instead."""
    mime_type: str
    name: str
    url: Optional[str] = None
    """The address of the file, for 24 hours, if the call asked for it: `"output": "link"`."""

    def save(self, path: Union[str, os.PathLike[str]]) -> Path:
        """Saves the file under this path, or in this folder under the name that the service suggests. Returns the path.

        Raises ValueError if the file is not in the result.
        """
        if self.url is not None:
            raise ValueError(f"The file is not in the result. Download it from {self.url}.")
        target = Path(path)
        if target.is_dir():
            target = target / Path(self.name).name
        target.write_bytes(self.content)
        return target


@dataclass(frozen=True, repr=False)
class Result(Generic[T]):
    """The result of a tool call."""

    output: T
    """The output fields of the tool."""
    credits: Credits
    request_id: str
    """The dashboard and the log of the service find the call by it."""
    idempotency_key: Optional[str]
    """Repeating the call with this key within 24 hours returns the same result at no cost. None if none was sent."""
    replayed: bool
    """True if the result is that of an earlier attempt or call with the same key."""
    reused: Optional[ReusedResult]
    """The earlier call whose result this is, because of `maxAge`, at no cost; None if the tool ran for this call."""

    def __repr__(self) -> str:
        """Shows all fields, with long texts of the output shortened."""
        shown = (
            f"{each.name}={_SHORT.repr(self.output) if each.name == 'output' else repr(getattr(self, each.name))}"
            for each in fields(self)
        )
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, repr=False)
class FileResult(Result[T]):
    """The result of a tool that creates a file."""

    file: ToolFile


@dataclass(frozen=True, repr=False)
class JobResult(Result[T]):
    """The result of a job."""

    file: Optional[ToolFile]
    """The file, if the tool creates one."""


def _number(headers: httpx.Headers, name: str) -> Optional[int]:
    """The number in a header; None if a proxy has removed or changed it."""
    text = headers.get(name, "")
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None


def result_of(response: httpx.Response, idempotency_key: Optional[str], own_key: bool) -> Result[Any]:
    """Reads the result of a successful response. `own_key`: the client has generated the idempotency key."""
    headers = response.headers
    replayed = headers.get("Idempotent-Replayed") == "true"
    cost = _number(headers, "X-Credits-Cost") or 0
    source = headers.get("X-Result-From")
    reused = None if source is None else ReusedResult(source, _number(headers, "Age") or 0)
    # The service reports 0 for a replay; a replay under the client's own key is the result of an earlier attempt of the
    # same call, which was charged.
    is_charged_replay = replayed and own_key and reused is None
    reported = None if is_charged_replay else _number(headers, "X-Credits-Charged")
    return Result(
        output=response.json(),
        credits=Credits(cost, cost if reported is None else reported, _number(headers, "X-Credits-Remaining")),
        request_id=headers.get("X-Request-Id", ""),
        idempotency_key=idempotency_key,
        replayed=replayed,
        reused=reused,
    )


def _file_of(output: Any, tool: ToolInfo, fields: FileFields) -> ToolFile:
    mime_type = output[fields.mime_type]
    name = None if fields.file_name is None else output[fields.file_name]
    data = output[fields.data]
    return ToolFile(
        content=b"" if data is None else base64.b64decode(data),
        mime_type=mime_type,
        name=name or f"{tool.name}.{_EXTENSIONS.get(mime_type, 'bin')}",
        url=output.get("fileUrl"),
    )


def with_file(result: Result[Any], tool: ToolInfo, fields: FileFields) -> FileResult[Any]:
    """Adds the decoded file to a result."""
    return FileResult(**vars(result), file=_file_of(result.output, tool, fields))


def job_result(result: Result[Any], tool: ToolInfo, fields: Optional[FileFields]) -> JobResult[Any]:
    """Adds the decoded file to the result of a job, if its tool creates one."""
    file = None if fields is None else _file_of(result.output, tool, fields)
    return JobResult(**vars(result), file=file)


def path_of(template: str, id: str) -> str:
    """Puts an id into the path of an operation."""
    return template.replace("{id}", quote(id, safe=""))
