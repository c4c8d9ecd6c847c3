#!/usr/bin/env bash
# stripe 23.1.0, Stripe's library for Node.js, and stripe 16.1.0, the one for Python: a payment whose response is a 503 of a proxy, with a body
# in JSON that is none of Stripe's errors.
# Expected: both throw, because the status says that nothing is known of the payment.
# Seen: the library for Node.js looks only for a member `error` in the body. The 503 is returned as the payment, without `id` and `status`, after it
# was repeated as often as `maxNetworkRetries` says. The one for Python throws an APIError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund stripe@23.1.0
python3 -m venv venv
venv/bin/pip install --quiet stripe==16.1.0
cat > pay.js <<'SCRIPT'
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
import Stripe from 'stripe';

let requests = 0;
const server = createServer((request, response) => {
  requests += 1;
  request.resume();
  response.writeHead(503, { 'Content-Type': 'application/json' }).end('{"message":"no healthy upstream"}');
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address();
const stripe = new Stripe('sk_test_1', { host: '127.0.0.1', port, protocol: 'http', maxNetworkRetries: 1 });
const outcome = await stripe.paymentIntents.create({ amount: 100, currency: 'eur' }).then(
  (payment) => `returned ${JSON.stringify(payment)} with id ${payment.id}`,
  (error) => `threw ${error.type}`,
);
console.log(`node: ${outcome}, ${requests} requests`);
const { stdout } = await promisify(execFile)('venv/bin/python', ['pay.py', String(port)]);
console.log(`python: ${stdout.trim()}`);
server.close();
SCRIPT
cat > pay.py <<'SCRIPT'
import sys
import stripe
client = stripe.StripeClient("sk_test_1", base_addresses={"api": f"http://127.0.0.1:{sys.argv[1]}"})
try:
    print("returned", client.v1.payment_intents.create({"amount": 100, "currency": "eur"}))
except Exception as error:
    print("threw", type(error).__name__)
SCRIPT
output=$(node pay.js)
echo "$output"
grep -qxF 'node: returned {"message":"no healthy upstream"} with id undefined, 2 requests' <<<"$output"
grep -qxF 'python: threw APIError' <<<"$output"
echo 'as described'
