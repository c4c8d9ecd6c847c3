#!/usr/bin/env bash
# opentelemetry-api 1.45.2 (Python) and @opentelemetry/core 3.1.1 (Node.js): baggage with spaces and plus signs between two
# services.
# Expected: a value arrives as it was set. The W3C specification has percent-encoding only; a plus sign stands for itself.
# Seen: Python writes a space as `+`, which Node.js reads as a plus sign, and reads the `+` that others may send raw as a space.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund @opentelemetry/core@3.1.1 @opentelemetry/api@1
python3 -m venv venv
venv/bin/pip install --quiet opentelemetry-api==1.45.2
cat > read.js <<'SCRIPT'
import { defaultTextMapGetter, propagation, ROOT_CONTEXT } from '@opentelemetry/api';
import { W3CBaggagePropagator } from '@opentelemetry/core';
const context = new W3CBaggagePropagator().extract(ROOT_CONTEXT, { baggage: process.argv[2] }, defaultTextMapGetter);
console.log('Node.js reads', propagation.getBaggage(context).getEntry('name').value);
SCRIPT
cat > services.py <<'SCRIPT'
import subprocess
from opentelemetry.baggage import get_baggage, set_baggage
from opentelemetry.baggage.propagation import W3CBaggagePropagator
propagator = W3CBaggagePropagator()
headers = {}
propagator.inject(headers, set_baggage("name", "Jane Doe"))
print("Python sends", headers["baggage"], flush=True)
subprocess.run(["node", "read.js", headers["baggage"]], check=True)
subprocess.run(["node", "read.js", "name=1+1"], check=True)
print("Python reads", get_baggage("name", propagator.extract({"baggage": "name=1+1"})))
SCRIPT
output=$(venv/bin/python services.py)
echo "$output"
grep -qxF 'Python sends name=Jane+Doe' <<<"$output"
grep -qxF 'Node.js reads Jane+Doe' <<<"$output"
grep -qxF 'Node.js reads 1+1' <<<"$output"
grep -qxF 'Python reads 1 1' <<<"$output"
echo 'as described'
