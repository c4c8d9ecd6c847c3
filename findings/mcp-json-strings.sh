#!/usr/bin/env bash
# mcp 2.3.0 (the MCP SDK for Python): string arguments of a tool whose text is JSON.
# Expected: a parameter `text: str | None` gets the string that the client sent.
# Seen: unless the parameter is exactly `str`, the text is parsed as JSON first. "null" becomes None, and a JSON document, such as
# a file to be written, is refused as not being a string, though the tool's schema allows it. A number as text stays a string.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet mcp==2.3.0
cat > strings.py <<'SCRIPT'
import asyncio
from mcp import Client
from mcp.server import MCPServer
server = MCPServer("strings")
@server.tool()
def required(text: str) -> str:
    return repr(text)
@server.tool()
def optional(text: str | None = None) -> str:
    return repr(text)
async def main():
    async with Client(server) as client:
        for name in "required", "optional":
            for text in "hello", "12", "null", '{"a": 1}':
                result = await client.call_tool(name, {"text": text})
                print(name, text, "->", "refused" if result.is_error else result.content[0].text)
                if result.is_error:
                    print(result.content[0].text)
asyncio.run(main())
SCRIPT
output=$(venv/bin/python strings.py)
echo "$output"
for tool in required optional; do
  grep -qxF "$tool hello -> 'hello'" <<<"$output"
  grep -qxF "$tool 12 -> '12'" <<<"$output"
done
grep -qxF "required null -> 'null'" <<<"$output"
grep -qxF "required {\"a\": 1} -> '{\"a\": 1}'" <<<"$output"
grep -qxF 'optional null -> None' <<<"$output"
grep -qxF 'optional {"a": 1} -> refused' <<<"$output"
grep -qF "Input should be a valid string [type=string_type, input_value={'a': 1}" <<<"$output"
echo 'as described'
