#!/usr/bin/env bash
# parse-prometheus-text-format 1.1.1 (Node.js): histograms and summaries with labels, as nearly all are, such as the durations of
# requests for each method, which prom-client 15.1.3 writes.
# Expected: the buckets, the sum and the count of each set of labels, as prometheus-client 0.26.0 (Python) reads them.
# Seen: one histogram without labels, whose buckets are those of the last set of labels, and without a sum and a count, so that 20
# requests with GET and one with POST are one. Counters and gauges keep their labels.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund parse-prometheus-text-format@1.1.1 prom-client@15.1.3
python3 -m venv venv
venv/bin/pip install --quiet prometheus-client==0.26.0
cat > read.js <<'SCRIPT'
import { writeFileSync } from 'node:fs';
import parse from 'parse-prometheus-text-format';
import { Histogram, register } from 'prom-client';
const durations = new Histogram({ name: 'seconds', help: 'durations', labelNames: ['method'], buckets: [0.1, 1] });
for (let i = 0; i < 20; i++) durations.observe({ method: 'GET' }, 0.05);
durations.observe({ method: 'POST' }, 0.5);
const text = await register.metrics();
writeFileSync('metrics', text);
console.log('Node.js', JSON.stringify(parse(text)[0].metrics));
SCRIPT
cat > read.py <<'SCRIPT'
from prometheus_client.parser import text_string_to_metric_families
for family in text_string_to_metric_families(open("metrics").read()):
    print("Python", *(f"{sample.labels['method']} {sample.value:g}" for sample in family.samples if sample.name == "seconds_count"))
SCRIPT
output=$(node read.js && venv/bin/python read.py)
echo "$output"
diff - <(echo "$output") <<'LINES'
Node.js [{"buckets":{"1":"1","0.1":"0","+Inf":"1"}}]
Python GET 20 POST 1
LINES
echo 'as described'
