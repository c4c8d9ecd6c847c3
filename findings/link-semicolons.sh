#!/usr/bin/env bash
# requests 2.34.2, httpx 0.28.1, httpx2 2.16.2 and aiohttp 3.14.5: `links` of a response whose Link header (RFC 8288) has an
# address with a semicolon, or two relations in one `rel`.
# Expected: `links["next"]["url"]` is the address between `<` and `>`; rel="next last" gives both `next` and `last`.
# Seen: all but aiohttp end the address at the semicolon and lose `rel` and the second link, so that a client that follows `next`
# stops after the first page; all four have a key "next last" and none for `next`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet requests==2.34.2 httpx==0.28.1 httpx2==2.16.2 aiohttp==3.14.5
cat > links.py <<'SCRIPT'
import asyncio, http.server, threading
import aiohttp, httpx, httpx2, requests
LINKS = {
    "/semicolon": '<http://a.example/list;v=1?page=2>; rel="next", <http://a.example/list;v=1?page=9>; rel="last"',
    "/relations": '<http://a.example/list?page=2>; rel="next last"',
}
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        self.send_response(200)
        self.send_header("Link", LINKS[self.path])
        self.send_header("Content-Length", "0")
        self.end_headers()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
async def get(address):
    async with aiohttp.ClientSession() as session, session.get(address) as response:
        return response.links
for path in LINKS:
    address = f"http://127.0.0.1:{server.server_port}{path}"
    clients = {it.__name__: it.get(address).links for it in (requests, httpx, httpx2)}
    for name, links in (clients | {"aiohttp": asyncio.run(get(address))}).items():
        print(path, name, {key: str(link["url"]) for key, link in links.items()})
SCRIPT
output=$(venv/bin/python links.py)
echo "$output"
for client in requests httpx httpx2; do
  grep -qxF "/semicolon $client {'http://a.example/list': 'http://a.example/list'}" <<<"$output"
done
grep -qxF "/semicolon aiohttp {'next': 'http://a.example/list;v=1?page=2', 'last': 'http://a.example/list;v=1?page=9'}" <<<"$output"
for client in requests httpx httpx2 aiohttp; do
  grep -qxF "/relations $client {'next last': 'http://a.example/list?page=2'}" <<<"$output"
done
echo 'as described'
