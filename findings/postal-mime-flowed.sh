#!/usr/bin/env bash
# postal-mime 4.0.0 (Node.js): an answer to a mail as `format=flowed`, the form in which Thunderbird writes plain text, with lines of a
# quotation that belong together.
# Expected: one quoted line without the marks of the lines in between (RFC 3676, section 4.5), as mailparser 3.14.2 gives it.
# Seen: the marks stay within the sentence: "> The meeting is on Friday at > ten in the large room." Lines that are not quoted are
# joined as they should be.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund postal-mime@4.0.0 mailparser@3.14.2
cat > answer.js <<'SCRIPT'
import { simpleParser } from 'mailparser';
import PostalMime from 'postal-mime';
const mail = [
  'From: a@a.example',
  'Content-Type: text/plain; charset=utf-8; format=flowed',
  '',
  '> The meeting is on Friday at ',
  '> ten in the large room.',
  '',
  'I will come ',
  'by train.',
  '',
].join('\r\n');
console.log('postal-mime', JSON.stringify((await PostalMime.parse(mail)).text));
console.log('mailparser', JSON.stringify((await simpleParser(mail)).text));
SCRIPT
output=$(node answer.js)
echo "$output"
grep -qxF 'postal-mime "> The meeting is on Friday at > ten in the large room.\n\nI will come by train.\n"' <<<"$output"
grep -qxF 'mailparser "> The meeting is on Friday at ten in the large room.\n\nI will come by train."' <<<"$output"
echo 'as described'
