"""A first program of a new user, run in an environment with only the wheel, and type-checked against it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from typing import Any, Dict, List

from utility_tools import (
    ApiError,
    AsyncUtilityTools,
    AsyncUtilityToolsAccount,
    JobResult,
    UtilityTools,
    UtilityToolsAccount,
    WebhookVerificationError,
    verify_webhook,
)
from utility_tools.types import HashTextInput

BASE_URL = os.environ["UTILITY_TOOLS_URL"]
KEY = os.environ["UTILITY_TOOLS_API_KEY"]
POOR_KEY = os.environ["POOR_KEY"]
ACCOUNT_KEY = os.environ["UTILITY_TOOLS_ACCOUNT_KEY"]
ABC: HashTextInput = {"text": "abc"}
INVALID: Any = {"algorithm": "md5"}


def webhook() -> Dict[str, Any]:
    delivery = json.loads(os.environ["DELIVERY"])
    event = verify_webhook(delivery["secret"], delivery["headers"], delivery["body"].encode())
    try:
        verify_webhook(delivery["secret"], delivery["headers"], delivery["body"] + " ")
        forged = ""
    except WebhookVerificationError as error:
        forged = type(error).__name__
    return {"event": event["event"], "forged": forged}


def sync() -> Dict[str, Any]:
    def error_of(key: str, input: HashTextInput = ABC, **options: Any) -> ApiError:
        with UtilityTools(key, base_url=BASE_URL) as other:
            try:
                other.hash_text(input, **options)
            except ApiError as error:
                return error
        raise AssertionError("the call succeeded")

    with UtilityTools() as client, UtilityToolsAccount() as account:
        result = client.hash_text(ABC)
        again = client.hash_text(ABC, idempotency_key=result.idempotency_key)
        qr = client.qr_generate({"text": "abc"})
        with tempfile.TemporaryDirectory() as folder:
            saved = qr.file.save(folder)
            assert saved.read_bytes() == qr.file.content
            uploaded = client.files.upload(saved)
        assert client.files.get(uploaded["id"])["type"] == "image/png"
        client.files.delete(uploaded["id"])
        account.revoke_key(account.create_key({"name": "temporary", "scopes": ["tools"]})["id"])
        try:
            client.ping({"host": "10.0.0.1"})
        except ApiError as error:
            refused = error.code
        return report(
            result,
            again,
            qr,
            error_of(KEY, INVALID),
            error_of(POOR_KEY),
            {
                "maximum": error_of(KEY, max_credits=0).code,
                "unknownKey": error_of("ut_unknown").code,
                "wrongScope": error_of(ACCOUNT_KEY).code,
                "refused": refused,
                "keys": sum(1 for key in account.list_keys({"limit": 1}) if key["revokedAt"] is None),
                "calls": sum(1 for _ in account.list_calls({"limit": 1})),
                "statement": account.statement().split("\r\n")[0],
                "job": head(client.jobs.wait(client.jobs.create("qr-generate", {"text": "abc"}))),
                "batch": batch(client),
            },
        )


async def with_asyncio() -> Dict[str, Any]:
    async def error_of(key: str, input: HashTextInput = ABC, **options: Any) -> ApiError:
        async with AsyncUtilityTools(key, base_url=BASE_URL) as other:
            try:
                await other.hash_text(input, **options)
            except ApiError as error:
                return error
        raise AssertionError("the call succeeded")

    async with AsyncUtilityTools(KEY, base_url=BASE_URL) as client:
        async with AsyncUtilityToolsAccount(ACCOUNT_KEY, base_url=BASE_URL) as account:
            result = await client.hash_text(ABC)
            again = await client.hash_text(ABC, idempotency_key=result.idempotency_key)
            qr = await client.qr_generate({"text": "abc"})
            uploaded = await client.files.upload(qr.file.content, "Näher.png")
            assert (await client.files.get(uploaded["id"]))["type"] == "image/png"
            await client.files.delete(uploaded["id"])
            await account.revoke_key((await account.create_key({"name": "temporary", "scopes": ["tools"]}))["id"])
            try:
                await client.ping({"host": "10.0.0.1"})
            except ApiError as error:
                refused = error.code
            live: List[str] = [key["id"] async for key in account.list_keys({"limit": 1}) if key["revokedAt"] is None]
            return report(
                result,
                again,
                qr,
                await error_of(KEY, INVALID),
                await error_of(POOR_KEY),
                {
                    "maximum": (await error_of(KEY, max_credits=0)).code,
                    "unknownKey": (await error_of("ut_unknown")).code,
                    "wrongScope": (await error_of(ACCOUNT_KEY)).code,
                    "refused": refused,
                    "keys": len(live),
                    "calls": len([call["id"] async for call in account.list_calls({"limit": 1})]),
                    "statement": (await account.statement()).split("\r\n")[0],
                    "job": head(await client.jobs.wait(await client.jobs.create("qr-generate", {"text": "abc"}))),
                    "batch": await async_batch(client),
                },
            )


TEXTS = [{"text": "abc"}, {"text": "def"}, {"text": "ghi"}]
LINES = b'{"id": "a", "tool": "hash-text", "input": {"text": "abc"}}\n'


def batch(client: UtilityTools) -> List[Any]:
    states: List[str] = []
    created = client.batches.create("hash-text", TEXTS, max_credits=1)
    paused = client.batches.wait(created["id"], lambda it: states.append(it["state"]))
    assert states[-1] == "paused"
    client.batches.resume(created["id"], 3)
    ended = client.batches.wait(created["id"])
    rows = [row["row"] for row in client.batches.results(created["id"])]
    later = [row["row"] for row in client.batches.results(created["id"], after=1)]
    other = client.batches.create_from_file(LINES, "application/x-ndjson")
    client.batches.wait(other["id"])
    client.batches.pause(other["id"])
    client.batches.cancel(other["id"])
    assert [it["id"] for it in client.batches.list({"limit": 1})][:2] == [other["id"], created["id"]]
    [row] = client.batches.results(other["id"], order="completion")
    return [paused["pauseReason"], ended["state"], rows, later, row["id"], client.batches.manifest(other["id"])["credits"]]


async def async_batch(client: AsyncUtilityTools) -> List[Any]:
    states: List[str] = []
    created = await client.batches.create("hash-text", TEXTS, max_credits=1)
    paused = await client.batches.wait(created["id"], lambda it: states.append(it["state"]))
    assert states[-1] == "paused"
    await client.batches.resume(created["id"], 3)
    ended = await client.batches.wait(created["id"])
    rows = [row["row"] async for row in client.batches.results(created["id"])]
    later = [row["row"] async for row in client.batches.results(created["id"], after=1)]
    other = await client.batches.create_from_file(LINES, "application/x-ndjson")
    await client.batches.wait(other["id"])
    await client.batches.pause(other["id"])
    await client.batches.cancel(other["id"])
    assert [it["id"] async for it in client.batches.list({"limit": 1})][:2] == [other["id"], created["id"]]
    [row] = [row async for row in client.batches.results(other["id"], order="completion")]
    manifest = await client.batches.manifest(other["id"])
    return [paused["pauseReason"], ended["state"], rows, later, row["id"], manifest["credits"]]


def head(result: JobResult[Any]) -> str:
    return "" if result.file is None else result.file.content[:4].hex()


def report(result: Any, again: Any, qr: Any, invalid: ApiError, poor: ApiError, others: Dict[str, Any]) -> Dict[str, Any]:
    return {
        "hash": result.output["hash"],
        "cost": result.credits.cost,
        "charged": result.credits.charged,
        "left": result.credits.left,
        "file": qr.file.content[:4].hex(),
        "invalid": [invalid.code, invalid.faults[0]["pointer"]],
        "poor": [poor.code, poor.available, poor.cost],
        "repeated": [again.replayed, again.credits.charged],
        **others,
        **webhook(),
    }


print(json.dumps(sync() if sys.argv[1] == "sync" else asyncio.run(with_asyncio())))
