#!/usr/bin/env bash
# fast-json-stringify 7.3.10 (Node.js), which Fastify writes its responses with: a payment that failed, written with a JSON Schema whose `status`
# is the constant "paid".
# Expected: an error, as for a text where a number must be, or "failed" as it is.
# Seen: "paid" is written whatever the value is, so that the answer says that the payment has succeeded. An `enum` with this one value writes
# "failed", and ajv 8.20.0 refuses the value with both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund fast-json-stringify@7.3.10 ajv@8.20.0
cat > write.js <<'SCRIPT'
import { Ajv } from 'ajv';
import fastJson from 'fast-json-stringify';
for (const status of [{ const: 'paid' }, { type: 'string', const: 'paid' }, { type: 'string', enum: ['paid'] }]) {
  const schema = { type: 'object', properties: { status }, required: ['status'] };
  const payment = { status: 'failed' };
  console.log(JSON.stringify(status), new Ajv().validate(schema, payment), fastJson(schema)(payment));
}
try {
  console.log(fastJson({ type: 'integer' })('failed'));
} catch (error) {
  console.log(error.message);
}
SCRIPT
output=$(node write.js)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
{"const":"paid"} false {"status":"paid"}
{"type":"string","const":"paid"} false {"status":"paid"}
{"type":"string","enum":["paid"]} false {"status":"failed"}
The value "failed" cannot be converted to an integer.
SCRIPT
echo 'as described'
