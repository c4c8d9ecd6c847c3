#!/usr/bin/env bash
# mingo 7.2.7 (Node.js), MongoDB's queries and aggregations for arrays in memory, as tests use it: comparisons in expressions.
# Expected: as MongoDB, which compares values of all types in one order, null before numbers, texts and booleans, and a missing member before
# null (seen with MongoDB 6.0.5: `{ $gt: ['$paid', null] }`, the usual way to ask if a member is there, is true for each value but null).
# Seen: `$gt` and `$lt` are false for values of two types, so that the question is answered with no for all, while `$cmp` of the same values is 1.
# For `$eq`, a missing member is null, and it makes `$max` null. A query `{ paid: { $gt: … } }` compares within a type in MongoDB too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund mingo@7.2.7
cat > compare.js <<'SCRIPT'
import mingo from 'mingo';
const documents = [{ paid: 20 }, { paid: 'yes' }, { paid: false }, { paid: null }, {}];
const EXPRESSIONS = [{ $gt: ['$paid', null] }, { $cmp: ['$paid', null] }, { $eq: ['$paid', null] }, { $max: ['$paid', 3] }];
for (const expression of EXPRESSIONS) {
  const values = new mingo.Aggregator([{ $project: { value: expression } }]).run(documents);
  console.log(JSON.stringify(expression), ...values.map((it) => JSON.stringify(it.value)));
}
SCRIPT
output=$(node compare.js)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
{"$gt":["$paid",null]} false false false false false
{"$cmp":["$paid",null]} 1 1 1 0 -1
{"$eq":["$paid",null]} false false false true true
{"$max":["$paid",3]} 20 "yes" false 3 null
SCRIPT
echo 'as described'
