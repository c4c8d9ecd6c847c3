#!/usr/bin/env bash
# digest-fetch 3.1.1, urllib 4.9.2 (Node.js), httpx 0.28.1 and `DigestAuthMiddleware` of aiohttp 3.14.5 (Python): Digest authentication
# where the server offers Basic first, as cameras and printers do, in two fields or in one (RFC 9110, section 11.6.1), or has a comma in its
# realm.
# Expected: all log in, as curl and requests 2.34.2 do.
# Seen: after Basic, digest-fetch answers `Authorization: Basic username="me",realm="other"`, the Digest answer under the name and with the
# realm of Basic, and aiohttp does not answer. With both in one field, httpx and urllib do not answer either. urllib cuts the realm at its
# comma.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund digest-fetch@3.1.1 urllib@4.9.2 node@24.21.0
python3 -m venv venv
venv/bin/pip install --quiet requests==2.34.2 httpx==0.28.1 aiohttp==3.14.5
cat > login.js <<'SCRIPT'
import DigestFetch from 'digest-fetch';
import { request } from 'urllib';
const Client = DigestFetch.default ?? DigestFetch;
const CLIENTS = {
  'digest-fetch': async (url) => (await new Client('me', 'secret').fetch(url)).status,
  urllib: async (url) => (await request(url, { digestAuth: 'me:secret' })).status,
};
for (const url of process.argv.slice(2))
  for (const [name, get] of Object.entries(CLIENTS)) console.log(new URL(url).pathname, name, await get(url));
SCRIPT
cat > login.py <<'SCRIPT'
import asyncio, hashlib, http.server, re, subprocess, threading
import aiohttp, httpx, requests
def digest(realm):
    return f'Digest realm="{realm}", qop="auth", algorithm=MD5, nonce="n"'
CHALLENGES = {
    "/alone": ("north", [digest("north")]),
    "/second": ("north", ['Basic realm="other"', digest("north")]),
    "/one-field": ("north", [f'Basic realm="other", {digest("north")}']),
    "/comma": ("cameras, north", [digest("cameras, north")]),
}
def md5(*parts):
    return hashlib.md5(":".join(parts).encode()).hexdigest()
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def do_GET(self):
        realm, challenges = CHALLENGES[self.path]
        sent = self.headers.get("Authorization", "")
        scheme, _, rest = sent.partition(" ")
        values = {name: quoted or plain for name, quoted, plain in re.findall(r'(\w+)=(?:"([^"]*)"|([^\s,]+))', rest)}
        if sent and scheme != "Digest":
            print(self.path, "sent", sent[:43], flush=True)
        ok = scheme == "Digest" and values["response"] == md5(
            md5("me", realm, "secret"), values["nonce"], values["nc"], values["cnonce"], values["qop"], md5("GET", self.path))
        self.send_response(200 if ok else 401)
        for challenge in [] if ok else challenges:
            self.send_header("WWW-Authenticate", challenge)
        self.send_header("Content-Length", "0")
        self.end_headers()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
async def with_aiohttp(url):
    login = aiohttp.DigestAuthMiddleware("me", "secret")
    async with aiohttp.ClientSession(middlewares=(login,)) as session, session.get(url) as response:
        return response.status
CLIENTS = {
    "requests": lambda url: requests.get(url, auth=requests.auth.HTTPDigestAuth("me", "secret")).status_code,
    "httpx": lambda url: httpx.get(url, auth=httpx.DigestAuth("me", "secret")).status_code,
    "aiohttp": lambda url: asyncio.run(with_aiohttp(url)),
}
urls = [f"http://127.0.0.1:{server.server_port}{path}" for path in CHALLENGES]
for path, url in zip(CHALLENGES, urls):
    for name, get in CLIENTS.items():
        print(path, name, get(url), flush=True)
    command = ["curl", "-s", "--digest", "-u", "me:secret", "-o", "/dev/null", "-w", "%{http_code}", url]
    print(path, "curl", subprocess.run(command, capture_output=True, text=True).stdout, flush=True)
subprocess.run(["node_modules/.bin/node", "login.js", *urls], check=True)
SCRIPT
output=$(venv/bin/python login.py)
echo "$output"
refused() { grep "^$1 .* 401\$" <<<"$output" | cut -d ' ' -f 2 | xargs; }
[ "$(refused /alone)" = '' ]
[ "$(refused /second)" = 'aiohttp digest-fetch' ]
[ "$(refused /one-field)" = 'httpx aiohttp digest-fetch urllib' ]
[ "$(refused /comma)" = 'urllib' ]
[ "$(grep -c ' 200$' <<<"$output")" = 17 ]
grep -qxF '/second sent Basic username="me",realm="other",nonce="n"' <<<"$output"
echo 'as described'
