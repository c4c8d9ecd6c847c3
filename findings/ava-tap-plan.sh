#!/usr/bin/env bash
# ava 8.0.1 with --tap: an exception outside of a test.
# Expected: the plan at the end of the TAP stream counts all results, and each test that was declared has one.
# Seen: the plan is `1..3` after four results, the comments count 2 passed and 3 failed, the test that was running when its
# process ended has no result, and the result of the exception names neither test nor file.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund ava@8.0.1
cat > passes.test.js <<'TEST'
import test from 'ava';
test('passes', (t) => t.pass());
TEST
cat > throws.test.js <<'TEST'
import test from 'ava';
test('passes before', (t) => t.pass());
test('is running', () => new Promise((resolve) => setTimeout(resolve, 5_000)));
setTimeout(() => {
  throw new Error('outside of a test');
}, 200);
TEST
output=$(npx ava --tap passes.test.js throws.test.js) && { echo 'ava passed'; exit 1; }
echo "$output"
[ "$(grep -cE '^(not )?ok [0-9]+ - ' <<<"$output")" = 4 ]
grep -qx '1\.\.3' <<<"$output"
grep -qx '# pass 2' <<<"$output"
grep -qx '# fail 3' <<<"$output"
grep -qE '^not ok [0-9]+ - Error: outside of a test$' <<<"$output"
! grep -qE '^(not )?ok .*is running' <<<"$output"
echo 'as described'
