#!/usr/bin/env bash
# json-canonicalize 3.0.1, canonicalize 5.1.0 (Node.js) and rfc8785 0.1.4 (Python): canonical JSON (RFC 8785), as signatures of webhooks and
# receipts need it, of objects with a method `toJSON` that gives an object, such as a Buffer.
# Expected: the three texts are the same. RFC 8785 sorts the members of all objects.
# Seen: json-canonicalize leaves the members of what `toJSON` gives in their order. A receiver that parses its text and canonicalizes it again,
# with any of the three, gets another text, so that the signature fails.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund json-canonicalize@3.0.1 canonicalize@5.1.0
python3 -m venv venv
venv/bin/pip install --quiet rfc8785==0.1.4
cat > canonical.js <<'SCRIPT'
import canonicalize from 'canonicalize';
import { canonicalize as jsonCanonicalize } from 'json-canonicalize';
const receipt = { id: 'r1', body: Buffer.from('ab') };
const text = jsonCanonicalize(receipt);
console.log('json-canonicalize', text);
console.log('parsed and again ', jsonCanonicalize(JSON.parse(text)));
console.log('canonicalize     ', canonicalize(receipt));
SCRIPT
output=$(node canonical.js)
output+=$'\n'"rfc8785           $(venv/bin/python -c '
import rfc8785
print(rfc8785.dumps({"id": "r1", "body": {"type": "Buffer", "data": [97, 98]}}).decode())')"
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
json-canonicalize {"body":{"type":"Buffer","data":[97,98]},"id":"r1"}
parsed and again  {"body":{"data":[97,98],"type":"Buffer"},"id":"r1"}
canonicalize      {"body":{"data":[97,98],"type":"Buffer"},"id":"r1"}
rfc8785           {"body":{"data":[97,98],"type":"Buffer"},"id":"r1"}
SCRIPT
echo 'as described'
