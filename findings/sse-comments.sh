#!/usr/bin/env bash
# @microsoft/fetch-event-source 2.0.1 (Node.js), httpx-sse 0.4.3 and sseclient-py 1.9.0 (Python): an event stream with a comment, which
# servers send to keep the connection, an event without data, and an end in the middle of an event.
# Expected: one message, as the HTML standard (section 9.2.6) says and eventsource-parser 4.1.3 gives: comments are ignored, and an event
# without data or without the empty line at its end is discarded.
# Seen: fetch-event-source gives a message with the data "" for the comment and for the event without data, httpx-sse one for the latter.
# sseclient-py gives the cut event as if it were whole. `JSON.parse("")` and half of a JSON text throw.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund @microsoft/fetch-event-source@2.0.1 eventsource-parser@4.1.3 node@24.21.0
python3 -m venv venv
venv/bin/pip install --quiet httpx==0.28.1 httpx-sse==0.4.3 sseclient-py==1.9.0
printf ': keep-alive\n\nevent: ping\n\ndata: {"n":1}\n\ndata: {"n":' > stream.txt
cat > stream.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { createParser } from 'eventsource-parser';
globalThis.window = globalThis;
globalThis.document = { hidden: false, addEventListener() {}, removeEventListener() {} };
const { fetchEventSource } = await import('@microsoft/fetch-event-source');
const bytes = readFileSync('stream.txt');
const messages = [];
await fetchEventSource('http://localhost/', {
  fetch: async () => new Response(bytes, { headers: { 'content-type': 'text/event-stream' } }),
  onmessage: (message) => messages.push(message.data),
});
console.log('fetch-event-source', JSON.stringify(messages));
const parsed = [];
createParser({ onEvent: (event) => parsed.push(event.data) }).feed(String(bytes));
console.log('eventsource-parser', JSON.stringify(parsed));
SCRIPT
cat > stream.py <<'SCRIPT'
import json
import httpx, sseclient
from httpx_sse import EventSource
body = open("stream.txt", "rb").read()
def show(name, events):
    print(name, json.dumps([event.data for event in events], separators=(",", ":")))
response = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=body)
show("httpx-sse", EventSource(response).iter_sse())
show("sseclient-py", sseclient.SSEClient(iter([body])).events())
SCRIPT
output=$(node_modules/.bin/node stream.js && venv/bin/python stream.py)
echo "$output"
grep -qxF 'fetch-event-source ["","","{\"n\":1}"]' <<<"$output"
grep -qxF 'eventsource-parser ["{\"n\":1}"]' <<<"$output"
grep -qxF 'httpx-sse ["","{\"n\":1}"]' <<<"$output"
grep -qxF 'sseclient-py ["{\"n\":1}","{\"n\":"]' <<<"$output"
echo 'as described'
