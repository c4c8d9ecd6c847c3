#!/usr/bin/env bash
# jsonpath-plus 11.3.0 (Node.js) and python-jsonpath 2.2.2 (Python): queries of RFC 9535, JSONPath.
# Expected: the same elements, or an error for what a library does not know.
# Seen: jsonpath-plus gives nothing, without an error, for filters without parentheses (`$.items[?@.paid]`), as the RFC writes them, and for
# the index -1. With parentheses, `@.note == null` is also true of items that have no note, and `@.id == "1"` of the number 1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund jsonpath-plus@11.3.0
python3 -m venv venv
venv/bin/pip install --quiet python-jsonpath==2.2.2
cat > queries.json <<'SCRIPT'
{ "queries": ["$.items[?@.paid].id", "$.items[?(@.paid)].id", "$.items[-1].id", "$.items[-1:].id",
              "$.items[?(@.note == null)].id", "$.items[?(@.id == \"1\")].id"],
  "document": { "items": [{ "id": 1, "paid": true }, { "id": 2, "note": null }, { "id": 3, "note": "x" }] } }
SCRIPT
cat > query.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { JSONPath } from 'jsonpath-plus';
const { queries, document } = JSON.parse(readFileSync('queries.json', 'utf8'));
for (const path of queries) console.log('node  ', path, JSON.stringify(JSONPath({ path, json: document })));
SCRIPT
cat > query.py <<'SCRIPT'
import json, jsonpath
with open("queries.json") as file:
    given = json.load(file)
for path in given["queries"]:
    print("python", path, jsonpath.findall(path, given["document"]))
SCRIPT
output=$(node query.js && venv/bin/python query.py)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
node   $.items[?@.paid].id []
node   $.items[?(@.paid)].id [1]
node   $.items[-1].id []
node   $.items[-1:].id [3]
node   $.items[?(@.note == null)].id [1,2]
node   $.items[?(@.id == "1")].id [1]
python $.items[?@.paid].id [1]
python $.items[?(@.paid)].id [1]
python $.items[-1].id [3]
python $.items[-1:].id [3]
python $.items[?(@.note == null)].id [2]
python $.items[?(@.id == "1")].id []
SCRIPT
echo 'as described'
