#!/usr/bin/env bash
# bson 7.3.4 of MongoDB's driver for Node.js and pymongo 4.20.1: a JSON Schema with `$id`, `$ref` and `definitions` at its root, as generators
# of schemas write them, stored and read again. MongoDB permits such names since 5.0.
# Expected: the object that was stored.
# Seen: a DBRef, a reference to a document of the collection "#/definitions/Order". In Node.js, `definitions` of it is undefined, although
# JSON.stringify gives all of it; in Python, json.dumps throws. A schema with only one of `$id` and `$ref` stays an object.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund bson@7.3.4
python3 -m venv venv
venv/bin/pip install --quiet pymongo==4.20.1
cat > schema.json <<'SCRIPT'
{ "schema": { "$id": "https://example.org/order", "$ref": "#/definitions/Order", "definitions": { "Order": { "type": "object" } } },
  "other": { "$ref": "#/definitions/Order", "definitions": { "Order": { "type": "object" } } } }
SCRIPT
cat > read.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { deserialize, serialize } from 'bson';
const stored = JSON.parse(readFileSync('schema.json', 'utf8'));
const { schema, other } = deserialize(serialize(stored));
console.log('node', schema.constructor.name, schema.collection, schema.definitions, JSON.stringify(schema).includes('definitions'));
console.log('node other', other.constructor.name, Object.keys(other).join(' '));
SCRIPT
cat > read.py <<'SCRIPT'
import bson, json
with open("schema.json") as file:
    read = bson.decode(bson.encode(json.load(file)))
schema = read["schema"]
print("python", type(schema).__name__, schema.collection, schema.id)
try:
    json.dumps(schema)
except TypeError as error:
    print("python", error)
print("python other", type(read["other"]).__name__)
SCRIPT
output=$(node read.js && venv/bin/python read.py)
echo "$output"
grep -qxF 'node DBRef #/definitions/Order undefined true' <<<"$output"
grep -qxF 'node other Object $ref definitions' <<<"$output"
grep -qxF 'python DBRef #/definitions/Order https://example.org/order' <<<"$output"
grep -qxF 'python Object of type DBRef is not JSON serializable' <<<"$output"
grep -qxF 'python other dict' <<<"$output"
echo 'as described'
