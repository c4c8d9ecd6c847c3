#!/usr/bin/env bash
# @temporalio/common 1.24.0 (TypeScript) and temporalio 1.35.0 (Python) of Temporal's SDKs: arguments that a workflow in one language gets
# from a client in the other, with the converters that both have by default.
# Expected: None arrives as null and null as None, and a number that one of them accepts is readable by the other.
# Seen: None arrives as undefined, which `=== null` and a schema that permits null do not take. NaN of Python becomes a payload that
# TypeScript cannot read, so that a task of the workflow fails; NaN of TypeScript arrives as None.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund @temporalio/common@1.24.0
python3 -m venv venv
venv/bin/pip install --quiet temporalio==1.35.0
cat > payloads.py <<'SCRIPT'
import json, sys
from temporalio.api.common.v1 import Payload
from temporalio.converter import DataConverter
converter = DataConverter.default.payload_converter
if sys.argv[1] == "write":
    payloads = converter.to_payloads([None, float("nan")])
    print(json.dumps([[it.metadata["encoding"].decode(), it.data.decode()] for it in payloads]))
else:
    for encoding, data in json.load(sys.stdin):
        payload = Payload(metadata={"encoding": encoding.encode()}, data=data.encode())
        print("Python reads", encoding, repr(data), "as", converter.from_payloads([payload])[0])
SCRIPT
cat > payloads.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { defaultPayloadConverter } from '@temporalio/common';
const text = (bytes) => Buffer.from(bytes ?? []).toString();
if (process.argv[2] === 'write') {
  const payloads = [null, undefined, NaN].map((value) => defaultPayloadConverter.toPayload(value));
  console.log(JSON.stringify(payloads.map(({ metadata, data }) => [text(metadata.encoding), text(data)])));
} else {
  for (const [encoding, data] of JSON.parse(readFileSync(0, 'utf8'))) {
    const payload = { metadata: { encoding: Buffer.from(encoding) }, data: Buffer.from(data) };
    try {
      console.log('TypeScript reads', encoding, `'${data}'`, 'as', defaultPayloadConverter.fromPayload(payload));
    } catch (error) {
      console.log('TypeScript reads', encoding, `'${data}'`, 'as', error.name);
    }
  }
}
SCRIPT
output=$(venv/bin/python payloads.py write | node payloads.js read && node payloads.js write | venv/bin/python payloads.py read)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
TypeScript reads binary/null '' as undefined
TypeScript reads json/plain 'NaN' as SyntaxError
Python reads json/plain 'null' as None
Python reads binary/null '' as None
Python reads json/plain 'null' as None
SCRIPT
echo 'as described'
