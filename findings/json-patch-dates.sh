#!/usr/bin/env bash
# fast-json-patch 3.1.1 (Node.js): `compare` of two documents with a Date, as a database gives them, and the patch (RFC 6902) applied to the
# JSON of the first.
# Expected: one operation that replaces the text of the date, or none if the dates are the same.
# Seen: 24 operations that add the characters of the text one by one, also if the dates are the same. Applied, they change nothing and
# throw nothing, so that the date stays the old one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund fast-json-patch@3.1.1
cat > compare.js <<'SCRIPT'
import patches from 'fast-json-patch';
const before = { due: new Date('2026-11-28T09:00:00Z'), count: 1 };
for (const after of [{ due: new Date('2026-12-28T09:00:00Z'), count: 2 }, { due: new Date('2026-11-28T09:00:00Z'), count: 1 }]) {
  const patch = patches.compare(before, after);
  const dates = patch.filter(({ path }) => path.startsWith('/due'));
  console.log(dates.length, JSON.stringify(dates[0]));
  console.log(JSON.stringify(patches.applyPatch(JSON.parse(JSON.stringify(before)), patch).newDocument));
}
SCRIPT
output=$(node compare.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
24 {"op":"add","path":"/due/0","value":"2"}
{"due":"2026-11-28T09:00:00.000Z","count":2}
24 {"op":"add","path":"/due/0","value":"2"}
{"due":"2026-11-28T09:00:00.000Z","count":1}
LINES
echo 'as described'
