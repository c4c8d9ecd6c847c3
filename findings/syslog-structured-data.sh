#!/usr/bin/env bash
# nsyslog-parser 0.10.1 (Node.js): messages of syslog (RFC 5424) whose structured data has quotes or brackets in a value, which its section
# 6.3.3 says are escaped by a backslash.
# Expected: the values without the backslashes, as glossy 0.1.7 (Node.js) gives them.
# Seen: with a quote in a value no structured data at all, which stays in front of the text of the message; with a bracket the backslash
# stays.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund glossy@0.1.7 nsyslog-parser@0.10.1
cat > messages <<'MESSAGES'
<165>1 2026-11-28T09:00:00Z host app - ID47 [example@32473 class="high" order="7"] text
<165>1 2026-11-28T09:00:00Z host app - ID47 [example@32473 class="high" note="say \"hi\" now"] text
<165>1 2026-11-28T09:00:00Z host app - ID47 [example@32473 class="high" list="a[1\]"] text
MESSAGES
cat > parse.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import glossy from 'glossy';
import parse from 'nsyslog-parser';
for (const line of readFileSync('messages', 'utf8').trim().split('\n')) {
  const { structuredData, message } = parse(line);
  console.log('nsyslog-parser', JSON.stringify(structuredData), message);
  glossy.Parse.parse(line, (parsed) => console.log('glossy', JSON.stringify(parsed.structuredData), parsed.message));
}
SCRIPT
output=$(node parse.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
nsyslog-parser [{"$id":"example@32473","class":"high","order":"7"}] text
glossy {"example@32473":{"class":"high","order":"7"}} text
nsyslog-parser [] [example@32473 class="high" note="say \"hi\" now"] text
glossy {"example@32473":{"class":"high","note":"say \"hi\" now"}} text
nsyslog-parser [{"$id":"example@32473","class":"high","list":"a[1\\]"}] text
glossy {"example@32473":{"class":"high","list":"a[1]"}} text
LINES
echo 'as described'
