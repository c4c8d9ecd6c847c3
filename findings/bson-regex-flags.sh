#!/usr/bin/env bash
# bson 7.3.4, which the MongoDB driver of Node.js uses, and pymongo 4.20.1: regular expressions with flags.
# Expected: the flag `s`, with which a dot matches line breaks, is stored as BSON's option `s`; `g`, which BSON does not have, is
# left out or refused.
# Seen: `s` is left out without an error, and `g` is stored as `s`. A query with /a.b/s does not find "a\nb", a query with /a.b/g
# does, and an expression that Python stored with DOTALL becomes /a.b/g, whose `test` starts where the last match ended.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund bson@7.3.4
python3 -m venv venv
venv/bin/pip install --quiet pymongo==4.20.1
cat > flags.js <<'SCRIPT'
import { deserialize, serialize } from 'bson';
const [given] = process.argv.slice(2);
if (given) console.log('read by Node.js:', String(deserialize(Buffer.from(given, 'hex')).pattern));
else for (const pattern of [/a.b/s, /a.b/g]) console.log(String(pattern), Buffer.from(serialize({ pattern })).toString('hex'));
SCRIPT
cat > flags.py <<'SCRIPT'
import re, sys
import bson
for line in sys.stdin:
    name, document = line.split()
    pattern = bson.decode(bytes.fromhex(document))["pattern"].try_compile()
    print(name, "matches a line break:", bool(pattern.search("a\nb")))
SCRIPT
output=$(
  node flags.js | venv/bin/python flags.py
  node flags.js "$(venv/bin/python -c 'import bson, re; print(bson.encode({"pattern": re.compile("a.b", re.DOTALL)}).hex())')"
)
echo "$output"
grep -qxF '/a.b/s matches a line break: False' <<<"$output"
grep -qxF '/a.b/g matches a line break: True' <<<"$output"
grep -qxF 'read by Node.js: /a.b/g' <<<"$output"
echo 'as described'
