#!/usr/bin/env bash
# koa 3.3.0: bodies that are neither strings, Buffers nor plain objects.
# Expected: a Uint8Array is sent as its bytes, as a Buffer is; HEAD of a ReadableStream has no Content-Length, as GET has none;
# a JSON response of null has the status 200, as one of any other value has.
# Seen: a Uint8Array is sent as JSON with its indices as keys, HEAD of a ReadableStream states a Content-Length of 2, and null
# with the type JSON is sent with the status 404.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund koa@3.3.0 node@24.21.0
cat > bodies.js <<'SCRIPT'
import { deepEqual } from 'node:assert/strict';
import { once } from 'node:events';
import Koa from 'koa';
const stream = () => new Blob(['abc']).stream();
const BODIES = {
  '/buffer': (ctx) => { ctx.body = Buffer.from('abc'); },
  '/bytes': (ctx) => { ctx.body = new Uint8Array([97, 98, 99]); },
  '/stream': (ctx) => { ctx.body = stream(); },
  '/one': (ctx) => { ctx.type = 'json'; ctx.body = 1; },
  '/null': (ctx) => { ctx.type = 'json'; ctx.body = null; },
};
const server = new Koa().use((ctx) => BODIES[ctx.path](ctx)).listen(0);
await once(server, 'listening');
const ask = async (path, method = 'GET') => {
  const response = await fetch(`http://127.0.0.1:${server.address().port}${path}`, { method });
  const { status, headers } = response;
  return [status, headers.get('content-type'), headers.get('content-length'), await response.text()];
};
const json = 'application/json; charset=utf-8';
const seen = {
  buffer: await ask('/buffer'),
  bytes: await ask('/bytes'),
  stream: await ask('/stream'),
  head: await ask('/stream', 'HEAD'),
  one: await ask('/one'),
  null: await ask('/null'),
};
console.log(seen);
deepEqual(seen, {
  buffer: [200, 'application/octet-stream', '3', 'abc'],
  bytes: [200, json, '22', '{"0":97,"1":98,"2":99}'],
  stream: [200, 'application/octet-stream', null, 'abc'],
  head: [200, 'application/octet-stream', '2', ''],
  one: [200, json, '1', '1'],
  null: [404, json, '4', 'null'],
});
server.close();
server.closeAllConnections();
SCRIPT
npx node bodies.js
echo 'as described'
