#!/usr/bin/env bash
# NO_PROXY with a network in CIDR notation, as clusters set it, for a request to an address of that network by Node.js 24.21.0
# (NODE_USE_ENV_PROXY=1), undici 8.13.1, axios 1.21.1, requests 2.34.2, httpx 0.28.1, httpx2 2.16.2 and aiohttp 3.14.5.
# Expected: all take the direct way, as curl and Go do; a client that does not know the notation would say so.
# Seen: only requests and httpx2 do. The others send the request to the proxy, without a word; httpx2 differs from httpx. A single
# address is honoured by all.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund node@24.21.0 undici@8.13.1 axios@1.21.1
python3 -m venv venv
venv/bin/pip install --quiet requests==2.34.2 httpx==0.28.1 httpx2==2.16.2 aiohttp==3.14.5
cat > clients.py <<'SCRIPT'
import http.server, os, subprocess, sys, threading
NODE = "node_modules/.bin/node"
CLIENTS = {
    "node:http": [NODE, "-e", "require('http').get(process.argv[1], (it) => it.pipe(process.stdout))"],
    "undici": [NODE, "-e", "const u = require('undici');"
      "u.request(process.argv[1], { dispatcher: new u.EnvHttpProxyAgent() }).then(async (it) => console.log(await it.body.text()))"],
    "axios": [NODE, "-e", "require('axios').get(process.argv[1]).then((it) => console.log(it.data))"],
    "requests": [sys.executable, "-c", "import requests, sys; print(requests.get(sys.argv[1]).text)"],
    "httpx": [sys.executable, "-c", "import httpx, sys; print(httpx.get(sys.argv[1]).text)"],
    "httpx2": [sys.executable, "-c", "import httpx2, sys; print(httpx2.get(sys.argv[1]).text)"],
    "aiohttp": [sys.executable, "-c", """
import aiohttp, asyncio, sys
async def main():
    async with aiohttp.ClientSession(trust_env=True) as session, session.get(sys.argv[1]) as response:
        print(await response.text())
asyncio.run(main())"""],
}
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.way)))
        self.end_headers()
        self.wfile.write(self.server.way)
def listen(host, way):
    server = http.server.ThreadingHTTPServer((host, 0), Handler)
    server.way = way
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://{host}:{server.server_port}"
target, proxy = listen("127.0.0.2", b"direct"), listen("127.0.0.1", b"proxy")
for no_proxy in "127.0.0.2", "127.0.0.0/8":
    variables = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    for name in "http_proxy", "HTTP_PROXY":
        variables[name] = proxy
    for name in "no_proxy", "NO_PROXY":
        variables[name] = no_proxy
    variables |= {"NODE_USE_ENV_PROXY": "1", "NODE_NO_WARNINGS": "1"}
    for name, command in CLIENTS.items():
        way = subprocess.run([*command, target], env=variables, capture_output=True, text=True).stdout.strip()
        print(no_proxy, name, way, flush=True)
SCRIPT
output=$(venv/bin/python clients.py)
echo "$output"
[ "$(grep -c '^127\.0\.0\.2 .* direct$' <<<"$output")" = 7 ]
[ "$(grep '^127\.0\.0\.0/8 .* direct$' <<<"$output" | cut -d ' ' -f 2 | xargs)" = 'requests httpx2' ]
[ "$(grep '^127\.0\.0\.0/8 .* proxy$' <<<"$output" | cut -d ' ' -f 2 | xargs)" = 'node:http undici axios httpx aiohttp' ]
echo 'as described'
