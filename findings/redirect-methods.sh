#!/usr/bin/env bash
# requests 2.34.2, httpx 0.28.1, urllib3 2.8.0 (Python) and got 16.1.0, axios 1.21.1 (Node.js): a redirect with the status 302 after
# DELETE and after POST.
# Expected: DELETE stays DELETE and POST becomes GET, as in browsers and in the Fetch standard (HTTP-redirect fetch, step 12); RFC 9110,
# section 15.4.3, permits a change for POST alone.
# Seen: requests and httpx send GET after DELETE, so that the answer is 200 and nothing has been deleted. got and urllib3 send the POST
# with its body a second time, so that the order on the page after a form is made twice. axios and fetch do as expected.
set -euo pipefail
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || { kill "$server"; wait "$server" 2>/dev/null || true; }; rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund got@16.1.0 axios@1.21.1 node@24.21.0
python3 -m venv venv
venv/bin/pip install --quiet requests==2.34.2 httpx==0.28.1 urllib3==2.8.0
cat > server.js <<'SCRIPT'
import { renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
const server = createServer(async (request, response) => {
  const body = await text(request);
  if (request.url === '/old') response.writeHead(302, { location: '/new' }).end();
  else response.end(`${request.method} ${body}`.trim());
});
server.listen(0, '127.0.0.1', () => {
  writeFileSync('port.part', String(server.address().port));
  renameSync('port.part', 'port');
});
SCRIPT
cat > clients.js <<'SCRIPT'
import axios from 'axios';
import got from 'got';
const [, , url] = process.argv;
for (const method of ['DELETE', 'POST']) {
  const body = method === 'POST' ? 'order' : undefined;
  console.log('fetch', method, '|', await (await fetch(url, { method, body })).text());
  console.log('axios', method, '|', (await axios({ url, method, data: body })).data);
  console.log('got', method, '|', (await got(url, { method, body })).body);
}
SCRIPT
cat > clients.py <<'SCRIPT'
import sys
import httpx, requests, urllib3
url = sys.argv[1]
for method in ("DELETE", "POST"):
    body = b"order" if method == "POST" else None
    print("requests", method, "|", requests.request(method, url, data=body).text)
    print("httpx", method, "|", httpx.request(method, url, content=body, follow_redirects=True).text)
    print("urllib3", method, "|", urllib3.request(method, url, body=body).data.decode())
SCRIPT
node_modules/.bin/node server.js &
server=$!
until [ -e port ]; do kill -0 "$server"; sleep 0.2; done
url="http://127.0.0.1:$(cat port)/old"
output=$(node_modules/.bin/node clients.js "$url" && venv/bin/python clients.py "$url")
echo "$output"
diff - <(echo "$output") <<'LINES'
fetch DELETE | DELETE
axios DELETE | DELETE
got DELETE | DELETE
fetch POST | GET
axios POST | GET
got POST | POST order
requests DELETE | GET
httpx DELETE | GET
urllib3 DELETE | DELETE
requests POST | GET
httpx POST | GET
urllib3 POST | POST order
LINES
echo 'as described'
