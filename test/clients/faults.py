"""Calls a tool many times through the asyncio and the blocking client, and prints the results as JSON."""

import asyncio
import json
import os
from concurrent.futures import ThreadPoolExecutor

from utility_tools import AsyncUtilityTools, UtilityTools

CALLS = int(os.environ["CALLS"])
AT_ONCE = int(os.environ["AT_ONCE"])
SETTINGS = {
    "api_key": os.environ["API_KEY"],
    "base_url": os.environ["BASE_URL"],
    "max_retries": int(os.environ["MAX_RETRIES"]),
    "retry_delay": 0.001,
}
texts = [f"call {number}" for number in range(CALLS)]


def seen(text, result):
    return {"text": text, "hash": result.output["hash"], "charged": result.credits.charged}


async def with_asyncio(part):
    async with AsyncUtilityTools(**SETTINGS) as client:
        slots = asyncio.Semaphore(AT_ONCE)

        async def call(text):
            async with slots:
                return seen(text, await client.hash_text({"text": text}))

        return await asyncio.gather(*[call(text) for text in part])


def blocking(part):
    with UtilityTools(**SETTINGS) as client, ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda text: seen(text, client.hash_text({"text": text})), part))


print(json.dumps(asyncio.run(with_asyncio(texts[::2])) + blocking(texts[1::2])))
