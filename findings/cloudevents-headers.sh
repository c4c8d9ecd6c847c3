#!/usr/bin/env bash
# cloudevents 10.0.0 (Node.js) and cloudevents 2.2.0 (Python): events over HTTP in binary mode, with attributes in headers.
# Expected: the attributes arrive as they were sent. CloudEvents' HTTP binding, section 3.1.3.2, wants spaces, `"`, `%` and characters
# beyond ASCII percent-encoded, and decoded by the receiver.
# Seen: Python does both, Node.js neither. From Python to Node.js the subject "Résumé 100%" arrives as "R%C3%A9sum%C3%A9%20100%25",
# and from Node.js to Python the source "/files/a%20b", a valid URI reference, as "/files/a b", which is none.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"commonjs"}' > package.json
npm install --silent --no-audit --no-fund cloudevents@10.0.0
python3 -m venv venv
venv/bin/pip install --quiet cloudevents==2.2.0
cat > python.py <<'SCRIPT'
import json, sys
from cloudevents.core.bindings.http import HTTPMessage, from_binary, to_binary
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
if sys.argv[1] == "send":
    attributes = {"id": "1", "type": "t", "source": "/files/a%20b", "subject": "Résumé 100%", "specversion": "1.0"}
    json.dump(to_binary(CloudEvent(attributes=attributes), JSONFormat()).headers, sys.stdout)
else:
    event = from_binary(HTTPMessage(headers=json.load(sys.stdin), body=b""), JSONFormat())
    print("Python receives", event.get_source(), "|", event.get_subject())
SCRIPT
cat > node.js <<'SCRIPT'
const { readFileSync } = require('node:fs');
const { CloudEvent, HTTP } = require('cloudevents');
if (process.argv[2] === 'send') {
  const event = new CloudEvent({ id: '1', type: 't', source: '/files/a%20b', subject: 'Résumé 100%' });
  console.log(JSON.stringify(HTTP.binary(event).headers));
} else {
  const { source, subject } = HTTP.toEvent({ headers: JSON.parse(readFileSync(0, 'utf8')) });
  console.log('Node.js receives', source, '|', subject);
}
SCRIPT
output=$(
  venv/bin/python python.py send | venv/bin/python python.py receive | sed 's/^/Python -> /'
  venv/bin/python python.py send | node node.js receive | sed 's/^/Python -> /'
  node node.js send | node node.js receive | sed 's/^/Node.js -> /'
  node node.js send | venv/bin/python python.py receive | sed 's/^/Node.js -> /'
)
echo "$output"
grep -qxF 'Python -> Python receives /files/a%20b | Résumé 100%' <<<"$output"
grep -qxF 'Python -> Node.js receives /files/a%2520b | R%C3%A9sum%C3%A9%20100%25' <<<"$output"
grep -qxF 'Node.js -> Node.js receives /files/a%20b | Résumé 100%' <<<"$output"
grep -qxF 'Node.js -> Python receives /files/a b | Résumé 100%' <<<"$output"
echo 'as described'
