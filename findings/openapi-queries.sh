#!/usr/bin/env bash
# openapi-fetch 0.17.0 as the client, express-openapi-validator 5.6.2 and openapi-backend 5.21.2 as servers of one OpenAPI document (Node.js).
# Expected: both servers get the values that the client was given, since it percent-encodes commas and ampersands within them.
# Seen: both split a list in the style `form` after decoding, so that ["a,b", "c"] arrives as three items. express-openapi-validator cuts the
# text "x&y" in an object of the style `deepObject` to "x", and gives an empty object if none was sent. Both read "0x10" as the integer 16.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund openapi-fetch@0.17.0 express-openapi-validator@5.6.2 openapi-backend@5.21.2 express@5.3.0
cat > queries.js <<'SCRIPT'
import express from 'express';
import { middleware } from 'express-openapi-validator';
import { OpenAPIBackend } from 'openapi-backend';
import createClient from 'openapi-fetch';
const query = (name, schema, style) => ({ name, in: 'query', schema, ...style });
const parameters = [
  query('ids', { type: 'array', items: { type: 'string' } }, { style: 'form', explode: false }),
  query('filter', { type: 'object', properties: { text: { type: 'string' } } }, { style: 'deepObject', explode: true }),
  query('limit', { type: 'integer' }),
];
const get = { operationId: 'items', parameters, responses: { 200: { description: 'OK' } } };
const document = { openapi: '3.0.3', info: { title: 'Items', version: '1' }, paths: { '/items': { get } } };
const backend = new OpenAPIBackend({ definition: document, coerceTypes: true, handlers: { items: ({ request }) => request.query } });
await backend.init();
const app = express();
app.use(middleware({ apiSpec: document }));
app.get('/items', (request, response) => response.json(request.query));
const server = app.listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const client = createClient({
  baseUrl: `http://127.0.0.1:${server.address().port}`,
  querySerializer: { array: { style: 'form', explode: false }, object: { style: 'deepObject', explode: true } },
  fetch: async (request) => {
    const { search } = new URL(request.url);
    const answer = await backend.handleRequest({ method: 'GET', path: '/items', query: search, headers: {} });
    const response = await fetch(request);
    console.log(search, '| express', await response.clone().text(), '| backend', JSON.stringify(answer));
    return response;
  },
});
for (const query of [{ ids: ['a,b', 'c'] }, { filter: { text: 'x&y' } }, { limit: '0x10' }]) await client.GET('/items', { params: { query } });
server.close();
server.closeAllConnections();
SCRIPT
output=$(node queries.js)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
?ids=a%2Cb,c | express {"ids":["a","b","c"],"filter":{}} | backend {"ids":["a","b","c"]}
?filter[text]=x%26y | express {"filter":{"text":"x"}} | backend {"filter":{"text":"x&y"}}
?limit=0x10 | express {"limit":16,"filter":{}} | backend {"limit":16}
SCRIPT
echo 'as described'
