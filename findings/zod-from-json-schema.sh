#!/usr/bin/env bash
# zod 4.6.7 (Node.js): `z.fromJSONSchema` and schemas with keywords that stand without `type`, or beside `$ref` or `enum`.
# Expected: the keywords apply, as with ajv 8.20.0, or the call throws, as it does for `if`, `not` and `dependentRequired`.
# Seen: they are left out without an error. An object that needs one of two properties, by `anyOf` with a `required` each, is valid
# without both; so is `{"minimum": 5}` for 1, and a text longer than the `maxLength` beside a `$ref`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund zod@4.6.7 ajv@8.20.0
cat > check.js <<'SCRIPT'
import { Ajv2020 } from 'ajv/dist/2020.js';
import { z } from 'zod';
const text = { $defs: { text: { type: 'string' } } };
const cases = {
  anyOf: [{ type: 'object', anyOf: [{ required: ['email'] }, { required: ['phone'] }] }, {}],
  allOf: [{ type: 'object', allOf: [{ properties: { age: { type: 'integer' } }, required: ['age'] }] }, { age: 'old' }],
  minimum: [{ minimum: 5 }, 1],
  enum: [{ enum: [1, 2], minimum: 2 }, 1],
  $ref: [{ ...text, $ref: '#/$defs/text', maxLength: 3 }, 'long text'],
  not: [{ not: { type: 'string' } }, 'text'],
};
for (const [name, [schema, value]] of Object.entries(cases)) {
  const valid = new Ajv2020({ strict: false }).validate(schema, value);
  try {
    console.log(name, 'ajv:', valid, 'zod:', z.fromJSONSchema(schema).safeParse(value).success);
  } catch (error) {
    console.log(name, 'ajv:', valid, 'zod:', error.name);
  }
}
SCRIPT
output=$(node check.js)
echo "$output"
for name in anyOf allOf minimum enum '$ref'; do
  grep -qxF "$name ajv: false zod: true" <<<"$output"
done
grep -qxF 'not ajv: false zod: Error' <<<"$output"
echo 'as described'
