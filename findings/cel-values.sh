#!/usr/bin/env bash
# cel-js 0.8.2, @bufbuild/cel 0.6.1, @marcbachmann/cel-js 8.0.0 (Node.js) and cel-python 0.5.0: expressions of the Common Expression
# Language, with which gateways and policies decide.
# Expected: the values of the language definition: integers are divided to integers, `has` is true for a member that is there, even if it is
# null, and a string in three quotes keeps its line breaks.
# Seen: `7 / 2` is 3.5 in cel-js. `has(user.email)` is false in @bufbuild/cel if the member is null. A line break in three quotes is dropped
# by cel-python, so that "a" and "b" in two lines are "ab". @marcbachmann/cel-js is right in each case.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund cel-js@0.8.2 @bufbuild/cel@0.6.1 @marcbachmann/cel-js@8.0.0 node@24.21.0
python3 -m venv venv
venv/bin/pip install --quiet cel-python==0.5.0
cat > cel.js <<'SCRIPT'
import { run } from '@bufbuild/cel';
import { evaluate as marcbachmann } from '@marcbachmann/cel-js';
import { evaluate as celJs } from 'cel-js';
const context = { user: { email: null } };
for (const expression of ['7 / 2', 'has(user.email)'])
  for (const [name, evaluate] of Object.entries({ 'cel-js': celJs, bufbuild: run, marcbachmann }))
    console.log(expression, name, String(evaluate(expression, context)));
const lines = '"""a\nb"""';
console.log('lines', JSON.stringify([run(lines), marcbachmann(lines)]));
SCRIPT
cat > cel.py <<'SCRIPT'
import json
import celpy
environment = celpy.Environment()
def evaluate(expression):
    context = {"user": celpy.json_to_cel({"email": None})}
    return environment.program(environment.compile(expression)).evaluate(context)
print("7 / 2 python", int(evaluate("7 / 2")))
print("has(user.email) python", str(bool(evaluate("has(user.email)"))).lower())
print("lines python", json.dumps(str(evaluate('"""a\nb"""'))))
SCRIPT
output=$(node_modules/.bin/node cel.js && venv/bin/python cel.py)
echo "$output"
grep -qx '7 / 2 cel-js 3.5' <<<"$output"
[ "$(grep -c '^7 / 2 .* 3$' <<<"$output")" = 3 ]
grep -qx 'has(user.email) bufbuild false' <<<"$output"
[ "$(grep -c '^has(user.email) .* true$' <<<"$output")" = 3 ]
grep -qxF 'lines ["a\nb","a\nb"]' <<<"$output"
grep -qxF 'lines python "ab"' <<<"$output"
echo 'as described'
