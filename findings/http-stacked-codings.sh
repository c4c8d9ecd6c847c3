#!/usr/bin/env bash
# axios 1.21.1, node-fetch 3.3.2, urllib 4.9.2 (Node.js) and aiohttp 3.14.5 (Python): a response with two content codings,
# `Content-Encoding: deflate, gzip` (RFC 9110, section 8.4), and one with `x-gzip`, the other name of gzip (section 8.4.1.3).
# Expected: the text, as `fetch` of Node.js 24.21.0, got 16.1.0 and requests 2.34.2 give it, or an error.
# Seen: with two codings, the three for Node.js give status 200 and the compressed bytes as the text, without an error; aiohttp ends with an
# error of UTF-8. With `x-gzip`, urllib and httpx 0.28.1 give the compressed bytes and aiohttp ends with the error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund axios@1.21.1 got@16.1.0 node-fetch@3.3.2 urllib@4.9.2 node@24.21.0
python3 -m venv venv
venv/bin/pip install --quiet requests==2.34.2 httpx==0.28.1 aiohttp==3.14.5
cat > codings.js <<'SCRIPT'
import axios from 'axios';
import got from 'got';
import nodeFetch from 'node-fetch';
import { request } from 'urllib';
const CLIENTS = {
  fetch: async (url) => (await fetch(url)).text(),
  axios: async (url) => (await axios.get(url)).data,
  got: async (url) => (await got(url)).body,
  'node-fetch': async (url) => (await nodeFetch(url)).text(),
  urllib: async (url) => String((await request(url)).data),
};
for (const url of process.argv.slice(2))
  for (const [name, get] of Object.entries(CLIENTS))
    console.log(new URL(url).pathname, name, await get(url).then((text) => (text === 'hello' ? text : 'compressed')));
SCRIPT
cat > codings.py <<'SCRIPT'
import asyncio, gzip, http.server, subprocess, threading, zlib
import aiohttp, httpx, requests
BODIES = {"/two": ("deflate, gzip", gzip.compress(zlib.compress(b"hello"))), "/x-gzip": ("x-gzip", gzip.compress(b"hello"))}
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        coding, body = BODIES[self.path]
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Encoding", coding)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
async def aiohttp_text(url):
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return await response.text()
CLIENTS = {
    "requests": lambda url: requests.get(url).text,
    "httpx": lambda url: httpx.get(url).text,
    "aiohttp": lambda url: asyncio.run(aiohttp_text(url)),
}
urls = [f"http://127.0.0.1:{server.server_port}{path}" for path in BODIES]
for path, url in zip(BODIES, urls):
    for name, get in CLIENTS.items():
        try:
            text = get(url)
            print(path, name, text if text == "hello" else "compressed", flush=True)
        except Exception as error:
            print(path, name, type(error).__name__, flush=True)
subprocess.run(["node_modules/.bin/node", "codings.js", *urls], check=True)
SCRIPT
output=$(venv/bin/python codings.py)
echo "$output"
[ "$(grep '^/two .* hello$' <<<"$output" | cut -d ' ' -f 2 | xargs)" = 'requests httpx fetch got' ]
[ "$(grep '^/two .* compressed$' <<<"$output" | cut -d ' ' -f 2 | xargs)" = 'axios node-fetch urllib' ]
[ "$(grep '^/x-gzip .* hello$' <<<"$output" | cut -d ' ' -f 2 | xargs)" = 'requests fetch axios got node-fetch' ]
[ "$(grep '^/x-gzip .* compressed$' <<<"$output" | cut -d ' ' -f 2 | xargs)" = 'httpx urllib' ]
[ "$(grep -c 'aiohttp UnicodeDecodeError$' <<<"$output")" = 2 ]
echo 'as described'
