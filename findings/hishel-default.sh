#!/usr/bin/env bash
# hishel 2.0.0 (Python), a cache for httpx that was released in November 2026: a client as hishel 1.4.0 has it, without options.
# Expected: the rules of RFC 9111, which 1.4.0 follows by default: a response with `Vary: Accept-Language` is not used for another language,
# and one with `no-cache` only after a request to the server.
# Seen: 2.0.0 follows them only with `rfc=True`. Without it, both responses are served from the cache: the page in German to the request for
# English.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for version in 1.4.0 2.0.0; do
  python3 -m venv "$version"
  "$version/bin/pip" install --quiet "hishel[httpx]==$version" httpx==0.28.1
done
cat > cache.py <<'SCRIPT'
import http.server, sys, threading
import hishel
from hishel import httpx
version, *options = sys.argv[1:]
FIELDS = {"/vary": {"Cache-Control": "max-age=60", "Vary": "Accept-Language"}, "/no-cache": {"Cache-Control": "no-cache"}}
requests = []
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        requests.append(self.path)
        body = self.headers["Accept-Language"].encode()
        self.send_response(200)
        for name, value in FIELDS[self.path].items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
Client = httpx.CacheClient if version == "2.0.0" else httpx.SyncCacheClient
Storage = hishel.SqliteStorage if version == "2.0.0" else hishel.SyncSqliteStorage
with Client(storage=Storage(database_path=f"{version}{options}.db"), **{option: True for option in options}) as client:
    for path in FIELDS:
        requests.clear()
        pages = [client.get(f"http://127.0.0.1:{server.server_port}{path}", headers={"Accept-Language": name}).text for name in ("de", "en")]
        print(version, *options, path, *pages, len(requests))
SCRIPT
output=$(1.4.0/bin/python cache.py 1.4.0 && 2.0.0/bin/python cache.py 2.0.0 && 2.0.0/bin/python cache.py 2.0.0 rfc)
echo "$output"
for version in 1.4.0 '2.0.0 rfc'; do
  for path in vary no-cache; do grep -qx "$version /$path de en 2" <<<"$output"; done
done
for path in vary no-cache; do grep -qx "2.0.0 /$path de de 1" <<<"$output"; done
echo 'as described'
