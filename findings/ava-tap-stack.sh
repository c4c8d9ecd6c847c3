#!/usr/bin/env bash
# ava 8.0.1 with --tap (supertap 3.0.1, js-yaml 3): a test fails with an error whose stack has no line with a position, as errors
# that come from another thread or from a deserialised response often have.
# Expected: the test is reported as failed, and the next tests run.
# Seen: AVA itself ends with a YAMLException, because the missing position is `undefined`. The failed test is not named, and the
# tests and files after it do not run. The default reporter reports it and runs all tests.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund ava@8.0.1
cat > fails.test.js <<'TEST'
import test from 'ava';
test.serial('first', () => {
  throw Object.assign(new Error('late'), { stack: 'Error: late' });
});
test.serial('second', (t) => t.pass());
TEST
tap=$(npx ava --tap 2>&1) && { echo 'ava passed'; exit 1; }
grep -q 'YAMLException: unacceptable kind of an object to dump \[object Undefined\]' <<<"$tap"
! grep -qE '^(not )?ok ' <<<"$tap"
plain=$(npx ava 2>&1) && { echo 'ava passed'; exit 1; }
grep -q '✘ \[fail\]: first' <<<"$plain"
grep -q '✔ second' <<<"$plain"
echo 'as described'
