#!/usr/bin/env bash
# sirv 3.0.2 (Node.js), a server of static files that Vite 8.3.8 and SvelteKit 3.2.0 bring: requests with the header Range.
# Expected: `bytes=0-0` gives the first byte, with which clients ask for the size of a file, and `bytes=-3` the last three bytes, with
# which readers of ZIP, PDF and Parquet files begin (RFC 9110, section 14.1.2), as @hono/node-server 2.1.9 answers.
# Seen: `bytes=0-0` gives the whole file with status 206, and `bytes=-3` the first four bytes. The Content-Range says so; a reader
# that takes the bytes for the end of the file finds no directory in it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund sirv@3.0.2 hono@4.13.19 @hono/node-server@2.1.9
mkdir files
printf 0123456789 > files/digits.txt
cat > ranges.js <<'SCRIPT'
import { once } from 'node:events';
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';
import sirv from 'sirv';
const app = new Hono();
app.use('/*', serveStatic({ root: './files' }));
for (const [name, listener] of Object.entries({ sirv: sirv('files'), hono: getRequestListener(app.fetch) })) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  for (const range of ['bytes=0-0', 'bytes=-3', 'bytes=7-']) {
    const answer = await fetch(`http://127.0.0.1:${server.address().port}/digits.txt`, { headers: { range } });
    console.log(name, range, answer.status, answer.headers.get('content-range'), await answer.text());
  }
  server.close();
  server.closeAllConnections();
}
SCRIPT
output=$(node ranges.js)
echo "$output"
grep -qxF 'sirv bytes=0-0 206 bytes 0-9/10 0123456789' <<<"$output"
grep -qxF 'sirv bytes=-3 206 bytes 0-3/10 0123' <<<"$output"
grep -qxF 'sirv bytes=7- 206 bytes 7-9/10 789' <<<"$output"
grep -qxF 'hono bytes=0-0 206 bytes 0-0/10 0' <<<"$output"
grep -qxF 'hono bytes=-3 206 bytes 7-9/10 789' <<<"$output"
echo 'as described'
