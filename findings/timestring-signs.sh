#!/usr/bin/env bash
# timestring 7.0.0 and parse-duration 2.1.9 (Node.js): durations with a sign or a decimal comma, such as "-1h" for an hour before an event
# and "1,5 h".
# Expected: -3600 s, and 5400 s or an error.
# Seen: timestring accepts a sign and ignores it, so that "-1h" is an hour after the event; both drop the comma, so that "1,5 h" is 15 hours.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund timestring@7.0.0 parse-duration@2.1.9
cat > parse.js <<'SCRIPT'
import parse from 'parse-duration';
import timestring from 'timestring';
for (const text of ['1.5 h', '-1h', '1,5 h']) console.log(text, '|', timestring(text), '|', parse(text, 's'));
SCRIPT
output=$(node parse.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
1.5 h | 5400 | 5400
-1h | 3600 | -3600
1,5 h | 54000 | 54000
LINES
echo 'as described'
