#!/usr/bin/env bash
# Node.js 24.21.0 and httpx 0.28.1: reading NDJSON line by line, with texts that hold U+2028 and U+0085, which JSON leaves as they are.
# Expected: `readline` and `iter_lines` end a line at a line feed only, as NDJSON does, and requests 2.34.2 likewise.
# Seen: readline ends it at U+2028, too, and iter_lines of httpx at both and at six others, so that a record is cut into two texts that are
# no JSON. iter_lines of requests, which works on bytes, does not. Texts from Word and PDF have such characters.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund node@24.21.0
python3 -m venv venv
venv/bin/pip install --quiet httpx==0.28.1 requests==2.34.2
cat > lines.js <<'SCRIPT'
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
const body = ['a b', 'a\u2028b', 'a\u0085b'].map((text) => `${JSON.stringify({ text })}\n`).join('');
const lines = [];
for await (const line of createInterface({ input: Readable.from([body]) })) lines.push(line);
console.log('readline', lines.length);
const server = createServer((_, response) => response.setHeader('Content-Type', 'application/x-ndjson').end(body));
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const { stdout } = await promisify(execFile)('venv/bin/python', ['lines.py', `http://127.0.0.1:${server.address().port}/`]);
console.log(stdout.trim());
server.close();
SCRIPT
cat > lines.py <<'SCRIPT'
import sys, httpx, requests
with httpx.stream("GET", sys.argv[1], trust_env=False) as response:
    print("httpx", len(list(response.iter_lines())))
session = requests.Session()
session.trust_env = False
print("requests", len(list(session.get(sys.argv[1], stream=True).iter_lines())))
SCRIPT
output=$(npx node lines.js)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
readline 4
httpx 5
requests 3
SCRIPT
echo 'as described'
