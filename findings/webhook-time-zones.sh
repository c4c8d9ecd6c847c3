#!/usr/bin/env bash
# standardwebhooks 1.1.0 and svix 2.9.1 (Python): `sign` with a time of the zone Europe/Vienna, which is the present moment.
# Expected: the same signature as with the same moment in UTC, since a datetime with a zone is a moment.
# Seen: both put UTC in the place of the zone and sign a moment one or two hours later. If the sender puts `timestamp()` of the same object into
# the header, the receiver refuses the message. With a datetime in UTC it is verified.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund standardwebhooks@1.1.1
python3 -m venv venv
venv/bin/pip install --quiet standardwebhooks==1.1.0 svix==2.9.1 tzdata==2026.3
cat > sign.py <<'SCRIPT'
import json
from datetime import datetime, timezone
from zoneinfo import ZoneInfo
import standardwebhooks.webhooks, svix.webhooks
now = datetime.now(timezone.utc).replace(microsecond=0)
messages = []
for library in (standardwebhooks.webhooks, svix.webhooks):
    for zone in ("UTC", "Europe/Vienna"):
        moment = now.astimezone(ZoneInfo(zone))
        signature = library.Webhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLpwk").sign("m", moment, "{}")
        name = library.__name__.split(".")[0]
        messages.append({"name": f"{name} {zone}", "timestamp": str(int(moment.timestamp())), "signature": signature})
print(json.dumps(messages))
SCRIPT
cat > verify.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { Webhook } from 'standardwebhooks';
const webhook = new Webhook('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLpwk');
for (const { name, timestamp, signature } of JSON.parse(readFileSync(0, 'utf8'))) {
  const headers = { 'webhook-id': 'm', 'webhook-timestamp': timestamp, 'webhook-signature': signature };
  try {
    webhook.verify('{}', headers);
    console.log(name, 'verified');
  } catch (error) {
    console.log(name, error.message);
  }
}
SCRIPT
output=$(venv/bin/python sign.py | node verify.js)
echo "$output"
for library in standardwebhooks svix; do
  grep -qxF "$library UTC verified" <<<"$output"
  grep -qxF "$library Europe/Vienna No matching signature found" <<<"$output"
done
echo 'as described'
