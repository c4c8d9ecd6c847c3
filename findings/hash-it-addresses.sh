#!/usr/bin/env bash
# hash-it 7.0.2 (Node.js), "hash any object based on its value", as keys of caches: a URL, its search parameters, headers of a request, form
# data and formatters of Intl.
# Expected: different values have different hashes, as in ohash 2.0.12, or an error, as ohash gives for Intl.
# Seen: all URLs have one hash, and so have all search parameters, headers, forms and formatters of numbers, because only enumerable
# properties of their own count, of which they have none. A cache by this key answers each address with the page of the first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund hash-it@7.0.2 ohash@2.0.12 node@24.21.0
cat > hash.js <<'SCRIPT'
import { hash as hashIt } from 'hash-it';
import { hash as ohash } from 'ohash';
const form = (value) => {
  const data = new FormData();
  data.append('q', value);
  return data;
};
const PAIRS = {
  Date: [new Date(0), new Date(1)],
  Map: [new Map([['q', 'a']]), new Map([['q', 'b']])],
  URL: [new URL('https://example.com/a'), new URL('https://example.org/b')],
  URLSearchParams: [new URLSearchParams('q=a'), new URLSearchParams('q=b')],
  Headers: [new Headers({ accept: 'text/html' }), new Headers({ accept: 'text/csv' })],
  FormData: [form('a'), form('b')],
  NumberFormat: [new Intl.NumberFormat('de'), new Intl.NumberFormat('en')],
};
const compare = (hash, [one, other]) => {
  try {
    return hash(one) === hash(other) ? 'same' : 'different';
  } catch {
    return 'error';
  }
};
for (const [name, pair] of Object.entries(PAIRS)) console.log(name, compare(hashIt, pair), compare(ohash, pair));
SCRIPT
output=$(node_modules/.bin/node hash.js)
echo "$output"
[ "$(grep -c ' different different$' <<<"$output")" = 2 ]
for name in URL URLSearchParams Headers FormData; do grep -qx "$name same different" <<<"$output"; done
grep -qx 'NumberFormat same error' <<<"$output"
echo 'as described'
