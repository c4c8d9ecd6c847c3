"""Cancels the task of a call when told to, and prints how the task ended. The client stays open until the input ends."""

import asyncio
import os
import sys

from utility_tools import AsyncUtilityTools


async def main():
    async with AsyncUtilityTools(os.environ["API_KEY"], base_url=os.environ["BASE_URL"]) as client:
        call = asyncio.create_task(client.http_request({"url": os.environ["TARGET"]}, idempotency_key=False))
        await asyncio.to_thread(sys.stdin.readline)
        call.cancel()
        await asyncio.wait([call])
        print("cancelled" if call.cancelled() else repr(call), flush=True)
        await asyncio.to_thread(sys.stdin.read)


asyncio.run(main())
