#!/usr/bin/env bash
# js-yaml 5.5.0 (Node.js), by default: merge keys, which compose files and pipelines of CI use, days, and bytes.
# Expected: as with js-yaml 4.3.2: `<<: *base` merges, a day is a Date, and `load` reads what `dump` writes.
# Seen: `<<` is a key like others, so that the merged values are missing, without a warning; a day is a text; and `load` throws for the
# `!!binary` that `dump` writes for bytes, and gives a text for a Date.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund js-yaml@5.5.0 js-yaml-4@npm:js-yaml@4.3.2
cat > load.js <<'SCRIPT'
import * as five from 'js-yaml';
import four from 'js-yaml-4';
const attempt = (run) => {
  try {
    const value = run();
    return value instanceof Date ? `Date ${value.toISOString()}` : value instanceof Uint8Array ? `bytes ${value}` : JSON.stringify(value);
  } catch (error) {
    return error.message.split('\n')[0];
  }
};
const MERGED = 'base: &base { retries: 3 }\njob: { <<: *base, name: test }';
for (const [version, { load, dump }] of Object.entries({ 4: four, 5: five })) {
  console.log(version, 'merge', attempt(() => load(MERGED).job));
  console.log(version, 'day', attempt(() => load('day: 2026-11-28').day));
  console.log(version, 'dumped bytes', attempt(() => load(dump({ value: new Uint8Array([1, 2]) })).value));
  console.log(version, 'dumped date', attempt(() => load(dump({ value: new Date(0) })).value));
}
SCRIPT
output=$(node load.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
4 merge {"retries":3,"name":"test"}
4 day Date 2026-11-28T00:00:00.000Z
4 dumped bytes bytes 1,2
4 dumped date Date 1970-01-01T00:00:00.000Z
5 merge {"<<":{"retries":3},"name":"test"}
5 day "2026-11-28"
5 dumped bytes unknown scalar tag !<tag:yaml.org,2002:binary> (1:8)
5 dumped date "1970-01-01T00:00:00.000Z"
LINES
echo 'as described'
