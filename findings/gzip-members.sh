#!/usr/bin/env bash
# httpx 0.28.1, httpx2 2.16.2 and fflate 0.8.3: gzip data of several members (RFC 1952, section 2.2), as `cat a.gz b.gz`, bgzip and
# logs that are appended to have.
# Expected: all members are decompressed, as gzip, requests and Node.js do.
# Seen: a response with such a body is cut after the first member by httpx and httpx2. `gunzipSync` of fflate gives as many bytes
# of the first member as the last member has. None reports an error. The stream `Gunzip` of fflate gives all.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund fflate@0.8.3
python3 -m venv venv
venv/bin/pip install --quiet httpx==0.28.1 httpx2==2.16.2 requests==2.34.2
cat > members.py <<'SCRIPT'
import gzip, http.server, threading
import httpx, httpx2, requests
body = gzip.compress(b"Monday ") + gzip.compress(b"Tue")
open("log.gz", "wb").write(body)
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for client in requests, httpx, httpx2:
    print(client.__name__, client.get(f"http://127.0.0.1:{server.server_port}/").content)
SCRIPT
cat > members.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { Gunzip, gunzipSync } from 'fflate';
const body = readFileSync('log.gz');
const parts = [];
new Gunzip((part) => parts.push(part)).push(body, true);
console.log('fflate Gunzip', String(Buffer.concat(parts)));
console.log('fflate gunzipSync', String(Buffer.from(gunzipSync(body))));
SCRIPT
output=$(venv/bin/python members.py && node members.js)
echo "$output"
grep -qx "requests b'Monday Tue'" <<<"$output"
grep -qx "httpx b'Monday '" <<<"$output"
grep -qx "httpx2 b'Monday '" <<<"$output"
grep -qx 'fflate Gunzip Monday Tue' <<<"$output"
grep -qx 'fflate gunzipSync Mon' <<<"$output"
echo 'as described'
