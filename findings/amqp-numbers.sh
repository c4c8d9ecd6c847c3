#!/usr/bin/env bash
# amqplib 2.3.1 (Node.js) and pika 1.4.4 (Python), clients of RabbitMQ: numbers in the headers of a message, as bytes of AMQP's field
# tables.
# Expected: 19.99 and -0.5 arrive as they were sent, as pamqp 4.0.1, which aio-pika uses, reads them.
# Seen: pika reads a double of amqplib as a whole number: 19.99 arrives as 19 and 0.5 as 0, without an error. It refuses to send a float;
# the decimal -0.5 that it sends instead arrives in Node.js as 4294967291 with one place, because amqplib reads the digits without their
# sign.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund amqplib@2.3.1 node@24.21.0
python3 -m venv venv
venv/bin/pip install --quiet pika==1.4.4 pamqp==4.0.1
cat > table.cjs <<'SCRIPT'
const codec = require('./node_modules/amqplib/lib/codec.js');
const [, , read] = process.argv;
if (read) {
  console.log('amqplib reads', JSON.stringify(codec.decodeFields(Buffer.from(read, 'hex').subarray(4))));
} else {
  const bytes = Buffer.alloc(200);
  const size = codec.encodeTable(bytes, { price: 19.99, discount: 0.5, pieces: 3 }, 0);
  console.log(bytes.subarray(0, size).toString('hex'));
}
SCRIPT
cat > table.py <<'SCRIPT'
import subprocess
from decimal import Decimal
import pamqp.decode, pika.data, pika.exceptions
node = ["node_modules/.bin/node", "table.cjs"]
table = bytes.fromhex(subprocess.run(node, capture_output=True, text=True, check=True).stdout)
print("pamqp reads", pamqp.decode.field_table(table)[1])
print("pika reads", {name: int(value) if int(value) == value else value for name, value in pika.data.decode_table(table, 0)[0].items()})
try:
    pika.data.encode_table([], {"price": 19.99})
except pika.exceptions.UnsupportedAMQPFieldException as error:
    print("pika refuses", type(error.args[1] if len(error.args) > 1 else None).__name__)
pieces = []
pika.data.encode_table(pieces, {"change": Decimal("-0.5")})
table = b"".join(pieces)
print("pamqp reads", pamqp.decode.field_table(table)[1], flush=True)
subprocess.run([*node, table.hex()], check=True)
SCRIPT
output=$(venv/bin/python table.py)
echo "$output"
grep -qx "pamqp reads {'price': 19.99, 'discount': 0.5, 'pieces': 3}" <<<"$output"
grep -qx "pika reads {'price': 19, 'discount': 0, 'pieces': 3}" <<<"$output"
grep -q '^pika refuses' <<<"$output"
grep -q "^pamqp reads {'change': Decimal('-0.5')}" <<<"$output"
grep -qxF 'amqplib reads {"change":{"!":"decimal","value":{"places":1,"digits":4294967291}}}' <<<"$output"
echo 'as described'
