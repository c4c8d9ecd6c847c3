"""Uploaded files, whose ids every field `fileUrl` takes for 24 hours, and the files of results with `"output": "link"`."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Optional, Union

import httpx

from ._errors import ApiConnectionError, ApiError
from ._rest import request_of
from ._result import path_of
from ._retries import Request
from ._transport import AsyncTransport, Download, Transport
from .types import UploadedFile

_PATH = "/api/v1/files"
_FILE = "/api/v1/files/{id}"


def _upload(file: Union[bytes, str, os.PathLike[str]], name: Optional[str]) -> Request:
    content = file if isinstance(file, bytes) else Path(file).read_bytes()
    named = name if name is not None or isinstance(file, bytes) else Path(file).name
    # Never sent: httpx encodes the form.
    form = httpx.Request("POST", "http://localhost", files={"file": (named, content)})
    headers = {"Content-Type": form.headers["Content-Type"]}
    # Repeating it only stores the file once more.
    return replace(request_of("POST", _PATH, form.read()), headers=headers, always=True)


class Files:
    """Uploads files."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def upload(self, file: Union[bytes, str, os.PathLike[str]], name: Optional[str] = None) -> UploadedFile:
        """Uploads a file, given by its path or its content. Tools derive the name of their result from `name`, or from the path."""
        uploaded: UploadedFile = self._transport.send(_upload(file, name)).json()
        return uploaded

    def download(self, file_url: str) -> bytes:
        """Returns the file of a result with `"output": "link"`, without your key. Continues after a lost connection."""
        download = Download(file_url)
        while True:
            try:
                return self._transport.file(download)
            except (ApiError, ApiConnectionError) as error:
                delay = self._transport.delay_of(download, error)
            time.sleep(delay)

    def get(self, id: str) -> UploadedFile:
        """Returns what is known about a file."""
        uploaded: UploadedFile = self._transport.send(request_of("GET", path_of(_FILE, id))).json()
        return uploaded

    def delete(self, id: str) -> None:
        """Deletes a file at once."""
        self._transport.send(request_of("DELETE", path_of(_FILE, id)))


class AsyncFiles:
    """Uploads files, with asyncio."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def upload(self, file: Union[bytes, str, os.PathLike[str]], name: Optional[str] = None) -> UploadedFile:
        """Uploads a file, given by its path or its content. Tools derive the name of their result from `name`, or from the path."""
        uploaded: UploadedFile = (await self._transport.send(_upload(file, name))).json()
        return uploaded

    async def download(self, file_url: str) -> bytes:
        """Returns the file of a result with `"output": "link"`, without your key. Continues after a lost connection."""
        download = Download(file_url)
        while True:
            try:
                return await self._transport.file(download)
            except (ApiError, ApiConnectionError) as error:
                delay = self._transport.delay_of(download, error)
            await asyncio.sleep(delay)

    async def get(self, id: str) -> UploadedFile:
        """Returns what is known about a file."""
        uploaded: UploadedFile = (await self._transport.send(request_of("GET", path_of(_FILE, id)))).json()
        return uploaded

    async def delete(self, id: str) -> None:
        """Deletes a file at once."""
        await self._transport.send(request_of("DELETE", path_of(_FILE, id)))
