"""Verifies deliveries with the Python client, and prints the name of the error of each, or its event."""

import base64
import json
import sys

from utility_tools import verify_webhook
from utility_tools._result import Credits, FileFields, Result, ToolInfo, with_file


def outcome(delivery):
    try:
        return verify_webhook(delivery["secret"], delivery["headers"], delivery["body"], now=delivery["now"])["event"]
    except Exception as error:
        return type(error).__name__


def shown():
    output = {"fileBase64": base64.b64encode(b"x" * 3_000_000).decode(), "mimeType": "application/pdf", "pages": 3}
    result = Result(output, Credits(1, 1, 249), "req_1", idempotency_key=None, replayed=False, reused=None)
    file = with_file(result, ToolInfo("word-to-pdf", False), FileFields("fileBase64", "mimeType", None))
    return [repr(result), repr(file)]


print(json.dumps({"outcomes": [outcome(delivery) for delivery in json.load(sys.stdin)], "shown": shown()}))
