#!/usr/bin/env bash
# @modelcontextprotocol/server 2.4.0 (TypeScript) and mcp 2.3.0 (Python): a resource with the URI template
# `trips://{city}{?start,end}`, read at addresses that the template expands to (RFC 6570, where a variable without a value is left out).
# Expected: both SDKs find the resource and hand over the values, decoded.
# Seen: Python does so, in any order of the parameters. TypeScript finds the resource only if all parameters are there in the order of
# the template, and hands over "S%C3%A3o%20Paulo" as it is in the address; other addresses are "Resource not found".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund @modelcontextprotocol/server@2.4.0
python3 -m venv venv
venv/bin/pip install --quiet mcp==2.3.0
cat > serve.js <<'SCRIPT'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
const server = new McpServer({ name: 'trips', version: '1' });
const template = new ResourceTemplate('trips://{city}{?start,end}', { list: undefined });
server.registerResource('trips', template, {}, ({ href }, { city, start, end }) => ({
  contents: [{ uri: href, text: [city, start, end].join() }],
}));
await server.connect(new StdioServerTransport());
SCRIPT
cat > read.py <<'SCRIPT'
import asyncio
from mcp import Client, MCPError, StdioServerParameters
from mcp.server import MCPServer
server = MCPServer("trips")
@server.resource("trips://{city}{?start,end}")
def trips(city: str, start: str = "", end: str = "") -> str:
    return ",".join((city, start, end))
async def main():
    servers = {"Python": server, "TypeScript": StdioServerParameters(command="node", args=["serve.js"])}
    for name, target in servers.items():
        async with Client(target) as client:
            for query in "", "?start=1&end=2", "?end=2", "?end=2&start=1":
                try:
                    text = (await client.read_resource(f"trips://S%C3%A3o%20Paulo{query}")).contents[0].text
                except MCPError as error:
                    text = str(error).partition(":")[0]
                print(name, query, text)
asyncio.run(main())
SCRIPT
output=$(PYTHONUTF8=1 venv/bin/python read.py)
echo "$output"
grep -qxF 'Python  São Paulo,,' <<<"$output"
grep -qxF 'Python ?start=1&end=2 São Paulo,1,2' <<<"$output"
grep -qxF 'Python ?end=2 São Paulo,,2' <<<"$output"
grep -qxF 'Python ?end=2&start=1 São Paulo,1,2' <<<"$output"
grep -qxF 'TypeScript  Resource not found' <<<"$output"
grep -qxF 'TypeScript ?start=1&end=2 S%C3%A3o%20Paulo,1,2' <<<"$output"
grep -qxF 'TypeScript ?end=2 Resource not found' <<<"$output"
grep -qxF 'TypeScript ?end=2&start=1 Resource not found' <<<"$output"
echo 'as described'
