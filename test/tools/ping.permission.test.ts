import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { machineEnv } from '../../dev/host.mjs';

const PORT = 8080;
/** Milliseconds within which the servers and the stack start on a loaded machine and answer a call. */
const PATIENCE_MS = 170_000;

const module = (path: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, path)).href);

/** Starts a stack, calls ping, and prints the output of the tool and what the worker's /readyz says. */
const SCRIPT = `
  import { createServer } from 'node:http';
  import { startStack } from ${module('../helpers/stack.ts')};
  import { makeAccount } from ${module('../helpers/account.ts')};
  import { internalUrlOf } from ${module('../helpers/processLog.ts')};
  const target = createServer().listen(${PORT}, '127.0.0.1');
  const stack = await startStack({
    pools: ['orchestrator', 'network'],
    env: { LOG_LEVEL: 'info', EGRESS_ALLOW: '127.0.0.1:${PORT}' },
  });
  try {
    const account = await makeAccount(stack, 2);
    const response = await account.call('ping', { host: '127.0.0.1', port: ${PORT}, count: 2 });
    const ready = await fetch(await internalUrlOf(stack, 'network') + '/readyz');
    process.stdout.write(JSON.stringify({ output: await response.json(), ready: await ready.json() }));
  } finally {
    await stack.stop();
    target.close();
  }`;

/**
 * Runs a program in a new network namespace, as root but without CAP_NET_RAW, so that it cannot open raw sockets. In a new
 * namespace, no group may open ICMP sockets either: `net.ipv4.ping_group_range` is empty by default, see icmp(7).
 */
const WITHOUT_ICMP = [
  ...['--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh'],
  ...['setpriv', '--bounding-set=-net_raw', '--inh-caps=-net_raw', '--'],
];

test('where ICMP is not permitted, the ping tool uses TCP and /readyz says so', async (t) => {
  const script = ['--input-type=module', '--eval', SCRIPT];
  const { stdout } = await promisify(execFile)('unshare', [...WITHOUT_ICMP, process.execPath, ...script], {
    // The shared servers of a test run cannot be reached from the namespace, so the stack starts its own.
    env: machineEnv(),
    timeout: PATIENCE_MS,
  });
  const { output, ready } = JSON.parse(stdout);
  t.like(output, { method: 'tcp', sent: 2, received: 2 });
  t.is(ready.details.ping, 'tcp');
});
