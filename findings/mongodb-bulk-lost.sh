#!/usr/bin/env bash
# mongodb 7.9.0, the driver of Node.js, and pymongo 4.20.1: a bulk write whose connection is lost before its reply.
# Expected: the error of a lost connection, as other commands throw it, so that a handler of partial failures is not reached.
# Seen: pymongo raises AutoReconnect. The driver of Node.js throws a MongoBulkWriteError, as after a partial failure. It has no write
# errors and no write concern error, and its `result` is ok. A handler that treats all operations but those in `writeErrors` as
# applied takes a command that never arrived for one that succeeded. `updateMany` throws MongoNetworkError.
set -euo pipefail
folder=$(mktemp -d)
server=
trap 'if [[ -n $server ]]; then kill "$server"; fi; rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund mongodb@7.9.0
python3 -m venv venv
venv/bin/pip install --quiet pymongo==4.20.1
# A server that answers each command, except that it closes the connection of an update.
cat > server.js <<'SCRIPT'
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { BSON } from 'mongodb';
const hello = { isWritablePrimary: true, minWireVersion: 0, maxWireVersion: 25, maxBsonObjectSize: 2 ** 24 };
const limits = { maxMessageSizeBytes: 48_000_000, maxWriteBatchSize: 100_000, ok: 1 };
const server = createServer((socket) => {
  let data = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    data = Buffer.concat([data, chunk]);
    while (data.length >= 4 && data.length >= data.readInt32LE(0)) {
      const message = data.subarray(0, data.readInt32LE(0));
      data = data.subarray(message.length);
      // Of OP_MSG: the header of 16 bytes, the flags and the kind of the first section, then the command.
      const command = BSON.deserialize(message.subarray(21, 21 + message.readInt32LE(21)));
      if (command.update !== undefined) return socket.destroy();
      const reply = BSON.serialize({ ...hello, ...limits });
      const head = Buffer.alloc(21);
      for (const [at, value] of [21 + reply.length, 1, message.readInt32LE(4), 2013].entries())
        head.writeInt32LE(value, 4 * at);
      socket.write(Buffer.concat([head, reply]));
    }
  });
});
server.listen(0, '127.0.0.1', () => writeFileSync('port', String(server.address().port)));
SCRIPT
cat > client.js <<'SCRIPT'
import { MongoClient } from 'mongodb';
const client = new MongoClient(`mongodb://127.0.0.1:${process.argv[2]}/`, { serverApi: '1' });
const items = client.db('shop').collection('items');
const change = [{ _id: 1 }, { $set: { paid: true } }];
const bulk = await items
  .bulkWrite([{ updateMany: { filter: change[0], update: change[1] } }], { ordered: false })
  .catch((error) => error);
console.log('Node.js:', bulk.name, bulk.writeErrors, bulk.result.getWriteConcernError(), bulk.result.isOk());
const plain = await items.updateMany(...change).catch((error) => error);
console.log('Node.js, updateMany:', plain.name);
await client.close();
SCRIPT
cat > client.py <<'SCRIPT'
import sys
from pymongo import MongoClient, UpdateMany
from pymongo.server_api import ServerApi
client = MongoClient("127.0.0.1", int(sys.argv[1]), server_api=ServerApi("1"))
try:
    client.shop.items.bulk_write([UpdateMany({"_id": 1}, {"$set": {"paid": True}})], ordered=False)
except Exception as error:
    print("Python:", type(error).__name__)
SCRIPT
node server.js &
server=$!
for _ in $(seq 100); do [[ -s port ]] && break; sleep 0.1; done
output=$(node client.js "$(cat port)"; venv/bin/python client.py "$(cat port)")
echo "$output"
grep -qxF 'Node.js: MongoBulkWriteError [] undefined true' <<<"$output"
grep -qxF 'Node.js, updateMany: MongoNetworkError' <<<"$output"
grep -qxF 'Python: AutoReconnect' <<<"$output"
echo 'as described'
