"""Downloads a file through the blocking and the asyncio client, several times, and prints the SHA-256 of what arrived as JSON."""

import asyncio
import hashlib
import json
import os

from utility_tools import AsyncUtilityTools, UtilityTools

SETTINGS = {"api_key": os.environ["API_KEY"], "base_url": os.environ["BASE_URL"], "retry_delay": 0.001}
URL = os.environ["FILE_URL"]
TIMES = int(os.environ["TIMES"])


def blocking():
    with UtilityTools(**SETTINGS) as client:
        return [hashlib.sha256(client.files.download(URL)).hexdigest() for _ in range(TIMES)]


async def with_asyncio():
    async with AsyncUtilityTools(**SETTINGS) as client:
        return [hashlib.sha256(await client.files.download(URL)).hexdigest() for _ in range(TIMES)]


print(json.dumps(blocking() + asyncio.run(with_asyncio())))
