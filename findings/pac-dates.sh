#!/usr/bin/env bash
# pac-resolver 9.0.2 (Node.js), with which proxy-agent reads the proxy auto-configuration (PAC) files of browsers, and pypac 0.19.0
# (Python).
# Expected: `dateRange("JAN", "DEC")` is true all year long, `dateRange(2026, 2099)` from 2026 on, as in pypac and browsers.
# Seen: `dateRange` of pac-resolver is false for all arguments and all days, without an error, so that a file which sends traffic to a new
# proxy from a date on never does. The function is there, documented, and not implemented.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund pac-resolver@9.0.2 node@24.21.0
python3 -m venv venv
venv/bin/pip install --quiet pypac==0.19.0
cat > dates.js <<'SCRIPT'
import { sandbox } from 'pac-resolver';
const CALLS = [['JAN', 'DEC'], [1, 31], [2026, 2099], [1, 'JAN', 2026, 31, 'DEC', 2099]];
for (const call of CALLS) console.log('pac-resolver', JSON.stringify(call), sandbox.dateRange(...call));
console.log('pac-resolver weekdays', sandbox.weekdayRange('SUN', 'SAT'));
SCRIPT
cat > dates.py <<'SCRIPT'
import json
from pypac.parser_functions import dateRange
for call in ["JAN", "DEC"], [1, 31], [2026, 2099], [1, "JAN", 2026, 31, "DEC", 2099]:
    print("pypac", json.dumps(call, separators=(",", ":")), json.dumps(dateRange(*call)))
SCRIPT
output=$(node_modules/.bin/node dates.js && venv/bin/python dates.py)
echo "$output"
[ "$(grep -c '^pac-resolver \[.* false$' <<<"$output")" = 4 ]
[ "$(grep -c '^pypac \[.* true$' <<<"$output")" = 4 ]
grep -qx 'pac-resolver weekdays true' <<<"$output"
echo 'as described'
