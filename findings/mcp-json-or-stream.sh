#!/usr/bin/env bash
# @modelcontextprotocol/server 2.4.0: createMcpHandler answers the same tools/call, which sends no notifications, to clients of two
# revisions that accept JSON and event streams.
# Expected: an event stream for both, as version 1 of the SDK sends unless `enableJsonResponse` is set.
# Seen: an event stream for revision 2025-11-25, and JSON for revision 2026-07-28, even if the client ranks event streams higher.
# An intermediary or a limit that knows only streams, or only JSON, does not see the other.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund @modelcontextprotocol/server@2.4.0 node@24.21.0
cat > answers.js <<'SCRIPT'
import { deepEqual } from 'node:assert/strict';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
async function typeOf(revision, accept) {
  const handler = createMcpHandler(() => {
    const server = new Server({ name: 'a', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/call', async () => ({ content: [{ type: 'text', text: 'hello' }] }));
    return server;
  });
  const isModern = revision === '2026-07-28';
  const _meta = isModern && {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name: 'tool', arguments: {}, ...(_meta && { _meta }) };
  const response = await handler.fetch(
    new Request('http://localhost/mcp', {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: accept,
        'MCP-Protocol-Version': revision,
        ...(isModern && { 'Mcp-Method': 'tools/call', 'Mcp-Name': 'tool' }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    }),
  );
  const text = await response.text();
  if (!text.includes('hello')) throw new Error(text);
  return response.headers.get('content-type');
}
const both = 'application/json, text/event-stream';
const rather = 'text/event-stream, application/json;q=0.1';
const seen = [
  await typeOf('2025-11-25', both),
  await typeOf('2026-07-28', both),
  await typeOf('2026-07-28', rather),
];
console.log(seen);
deepEqual(seen, ['text/event-stream', 'application/json', 'application/json']);
SCRIPT
npx node answers.js
echo 'as described'
