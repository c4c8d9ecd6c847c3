#!/usr/bin/env bash
# requests 2.34.2 (Python 3.11 to 3.13): a server that sends 103 Early Hints (RFC 8297) before its response, here the HTTP server of Node.js.
# Expected: the response with 200. A client must be able to parse interim responses and may ignore them (RFC 9110, section 15.2); httpx 0.28.1,
# aiohttp 3.14.5 and fetch and axios 1.21.1 of Node.js do so.
# Seen: the response is 103 with an empty text, which `ok` and `raise_for_status` take for a success, as http.client of Python passes over
# 100 Continue only. urlopen of Python throws.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund axios@1.21.1
python3 -m venv venv
venv/bin/pip install --quiet requests==2.34.2 httpx==0.28.1 aiohttp==3.14.5
cat > get.py <<'SCRIPT'
import asyncio, sys, urllib.error, urllib.request
import aiohttp, httpx, requests
url = sys.argv[1]
response = requests.get(url, timeout=10)
print("requests", response.status_code, response.ok, repr(response.text))
response = httpx.get(url)
print("httpx", response.status_code, response.text)
try:
    print("urlopen", urllib.request.urlopen(url, timeout=10).status)
except urllib.error.HTTPError as error:
    print("urlopen", error)
async def with_aiohttp():
    async with aiohttp.request("GET", url) as response:
        print("aiohttp", response.status, await response.text())
asyncio.run(with_aiohttp())
SCRIPT
cat > serve.js <<'SCRIPT'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import axios from 'axios';
const server = createServer((_, response) => {
  response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' });
  response.end('page');
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${server.address().port}/`;
await once(spawn('venv/bin/python', ['get.py', url], { stdio: 'inherit' }), 'exit');
const fetched = await fetch(url);
console.log('fetch', fetched.status, await fetched.text());
const { status, data } = await axios.get(url);
console.log('axios', status, data);
server.close();
server.closeAllConnections();
SCRIPT
output=$(node serve.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
requests 103 True ''
httpx 200 page
urlopen HTTP Error 103: Early Hints
aiohttp 200 page
fetch 200 page
axios 200 page
LINES
echo 'as described'
