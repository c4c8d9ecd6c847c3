#!/usr/bin/env bash
# express 5.3.0 with its query parser `extended`, and qs 6.17.1 (Node.js): a list of 21 ids in a query, as `ids=7&ids=8&…` or `ids[]=7&…`.
# Expected: an array, as for 20 ids. The option `arrayLimit: 20` of qs was about indices in the query such as `ids[21]=7`.
# Seen: an object with the members "0" to "20", without an error, so that `ids.map` and `for … of` fail with the 21st id. The same list in
# the body of a form is an array, because body-parser raises the limit to the number of the parameters.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund express@5.3.0 qs@6.17.1
cat > lists.js <<'SCRIPT'
import express from 'express';
import qs from 'qs';
const app = express().set('query parser', 'extended').use(express.urlencoded({ extended: true }));
const kind = (list) => (Array.isArray(list) ? 'array' : typeof list);
app.all('/', (request, response) => response.json(kind((request.body ?? request.query).ids)));
const server = app.listen(0, '127.0.0.1', async () => {
  const url = `http://127.0.0.1:${server.address().port}/`;
  for (const name of ['ids', 'ids[]']) {
    for (const count of [20, 21]) {
      const list = new URLSearchParams(Array.from({ length: count }, (_, index) => [name, String(index)]));
      const query = await (await fetch(`${url}?${list}`)).json();
      const form = await (await fetch(url, { method: 'POST', body: list })).json();
      console.log(name, count, 'qs', kind(qs.parse(String(list)).ids), 'query', query, 'form', form);
    }
  }
  server.close();
  server.closeAllConnections();
});
SCRIPT
output=$(node lists.js)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
ids 20 qs array query array form array
ids 21 qs object query object form array
ids[] 20 qs array query array form array
ids[] 21 qs object query object form array
SCRIPT
echo 'as described'
