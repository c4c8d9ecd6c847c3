#!/usr/bin/env bash
# @modelcontextprotocol/server 2.4.0 and @modelcontextprotocol/client 2.4.0: a tool that answers a call with a task of the extension
# io.modelcontextprotocol/tasks, and a client that declares the extension.
# Expected: the result is sent as the handler returned it, and `callTool` gives it to the caller, who asks for the task then.
# Seen: the server adds `content: []`, since it completes each result of a tool call, whatever its `resultType`. The client throws
# UNSUPPORTED_RESULT_TYPE, and does not give the id of the task that runs now.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund @modelcontextprotocol/server@2.4.0 @modelcontextprotocol/client@2.4.0
cat > task.js <<'SCRIPT'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
const extensions = { 'io.modelcontextprotocol/tasks': {} };
const now = new Date().toISOString();
const task = { taskId: 't1', status: 'working', createdAt: now, lastUpdatedAt: now, ttlMs: 60000, pollIntervalMs: 1000 };
const handler = createMcpHandler(() => {
  const server = new Server({ name: 'a', version: '1' }, { capabilities: { tools: {}, extensions } });
  server.setRequestHandler('tools/list', async () => ({ tools: [{ name: 'tool', inputSchema: { type: 'object' } }] }));
  server.setRequestHandler('tools/call', async () => ({ resultType: 'task', ...task }));
  return server;
});
const fetch = async (url, init) => {
  const response = await handler.fetch(new Request(url, init));
  if (init.body?.includes('"tools/call"')) {
    const { result } = JSON.parse((await response.clone().text()).replace(/^[^{]*data: /s, ''));
    console.log('sent', result.resultType, result.taskId, JSON.stringify(result.content));
  }
  return response;
};
const client = new Client({ name: 'b', version: '1' }, { capabilities: { extensions }, versionNegotiation: { mode: { pin: '2026-07-28' } } });
await client.connect(new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), { fetch }));
try {
  console.log('received', await client.callTool({ name: 'tool', arguments: {} }));
} catch (error) {
  console.log('thrown', error.code, JSON.stringify(error).includes('t1'));
}
await client.close();
SCRIPT
output=$(node task.js)
echo "$output"
grep -qxF 'sent task t1 []' <<<"$output"
grep -qxF 'thrown UNSUPPORTED_RESULT_TYPE false' <<<"$output"
echo 'as described'
