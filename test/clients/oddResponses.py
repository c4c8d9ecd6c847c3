"""Calls a tool at each base URL, and prints the credits of each result, or the name of the error."""

import json
import sys

from utility_tools import UtilityTools


def outcome(base_url):
    try:
        with UtilityTools(api_key="key", base_url=base_url, max_retries=1, retry_delay=0.001, timeout=20) as client:
            credits = client.hash_text({"text": "a"}).credits
            return [credits.cost, credits.charged, credits.left]
    except Exception as error:
        return type(error).__name__


print(json.dumps([outcome(base_url) for base_url in json.load(sys.stdin)]))
