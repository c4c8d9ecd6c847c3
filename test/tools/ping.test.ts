import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { run } from '../../activities/tools/ping.ts';
import { freePort } from '../../dev/ports.ts';
import { type Dial, dialTcp } from '../../egress/connect.ts';
import { createGuard } from '../../egress/guard.ts';
import { createHandshake } from '../../egress/handshake.ts';
import { createEcho, type Echo, permitsIcmp } from '../../egress/icmp.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { laneSlots } from '../../workers/pools.ts';
import { blockEventLoop, codeOf, listen, soon, stubNetwork } from '../helpers/egress.ts';
import { recordsAt } from '../helpers/json.ts';
import { casesOf } from '../helpers/ssrf.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';
import { until } from '../helpers/until.ts';

const tool = await loadTool('ping');
const execute = promisify(execFile);

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/**
 * Programs that do not exist, as on a machine without ping and perl: the tool then uses TCP and this process measures
 * the times.
 */
const noEcho = createEcho('no-such-program');
const noHandshake = createHandshake('no-such-program');
const echo = createEcho('ping');
const handshake = createHandshake('perl');

function guardFor(addresses: readonly string[], dial: Dial = dialTcp) {
  const allow = [parseAllow('127.0.0.0/8'), parseAllow('::1/128')];
  const resolver = { addresses: async () => ({ addresses: [...addresses], chain: [] }) };
  return createGuard({ resolver, allow, ownPorts: [], dial });
}
const egress = guardFor(['127.0.0.1']);

const probe = (
  fields: { host?: string; count?: number; port?: number; timeoutMs?: number },
  guard = egress,
) =>
  run(
    { host: 'example.com', count: 4, port: 443, timeoutMs: 2000, ...fields },
    { egress: guard, ...soon() },
    { echo: noEcho, handshake: noHandshake },
  );

async function withServer<T>(server: Server, work: (port: number) => Promise<T>): Promise<T> {
  try {
    return await work(await listen(server));
  } finally {
    server.close();
  }
}

/** Calls `work` with a shell script that replaces ping, in a temporary folder. */
async function withProgram<T>(script: string, work: (program: string, folder: string) => Promise<T>) {
  const folder = await mkdtemp(join(tmpdir(), 'ping-'));
  try {
    const program = join(folder, 'ping');
    await writeFile(program, `#!/bin/sh\ncd ${folder}\n${script}\n`);
    await chmod(program, 0o700);
    return await work(program, folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

for (const address of ['127.0.0.1', '::1'])
  test(`${address} answers ICMP with the same result as in fping`, async (t) => {
    const guard = guardFor([address]);
    const output = await tool.call({ host: 'example.com', count: 3 }, { egress: guard });
    t.like(output, { resolvedIp: address, method: 'icmp', sent: 3 });
    // fping writes its summary to standard error.
    const { stderr } = await execute('fping', ['-q', '-c', '3', '-p', '250', address]);
    t.true(stderr.includes(`= ${output.sent}/${output.received}/${output.packetLossPercent}%`), stderr);
    for (const { success, latency, status } of recordsAt(output.attempts)) {
      t.true(success === true && status === 'ok');
      t.true(typeof latency === 'number' && latency > 0 && latency < 2000);
    }
  });

test('the statistics are computed from the replies that ping prints', async (t) => {
  // The output of iputils 20221126 with other times.
  const script = `
echo "$LC_ALL $*" >> args
echo 'PING 127.0.0.1 (127.0.0.1) 56(84) bytes of data.'
reply() { echo "64 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=$1 ms"; exit 0; }
case \${0##*/} in
  0) reply 10.0 ;; 1) reply 14.25 ;;
  2) echo; echo '1 packets transmitted, 0 received, 100% packet loss, time 0ms'; exit 1 ;;
  3) echo 'From 127.0.0.2 icmp_seq=1 Destination Host Unreachable'; exit 1 ;;
  4) reply 0.093 ;; 5) reply 2500 ;;
esac`;
  await withProgram(script, async (program, folder) => {
    // Each probe has a program of its own, because the processes of several probes run at the same time.
    for (let i = 0; i < 6; i++) await symlink(program, join(folder, `${i}`));
    let sent = 0;
    const echo: Echo = (...probe) => createEcho(join(folder, `${sent++}`))(...probe);
    const input = { host: 'example.com', count: 6, port: 443, timeoutMs: 2000 };
    const output = await run(input, { egress, ...soon() }, { echo, handshake });
    t.deepEqual(output, {
      resolvedIp: '127.0.0.1',
      method: 'icmp',
      sent: 6,
      received: 3,
      packetLossPercent: 50,
      minMs: 0.093,
      avgMs: 8.114,
      maxMs: 14.25,
      jitter: 9.204,
      attempts: [
        { sequence: 1, success: true, latency: 10, status: 'ok' },
        { sequence: 2, success: true, latency: 14.25, status: 'ok' },
        { sequence: 3, success: false, latency: null, status: 'timeout' },
        { sequence: 4, success: false, latency: null, status: 'unreachable' },
        { sequence: 5, success: true, latency: 0.093, status: 'ok' },
        { sequence: 6, success: false, latency: null, status: 'timeout' },
      ],
    });
    const calls = (await readFile(join(folder, 'args'), 'utf8')).trim().split('\n');
    t.deepEqual([...new Set(calls)], ['C -n -c 1 -W 2 -- 127.0.0.1']);
  });
});

test('the tool uses TCP if the ping program is not permitted to send ICMP', async (t) => {
  const script = "echo 'ping: socktype: SOCK_RAW' >&2; echo 'Operation not permitted' >&2; exit 2";
  const port = await freePort();
  await withProgram(script, async (program) => {
    const input = { host: 'example.com', count: 2, port, timeoutMs: 2000 };
    const output = await run(input, { egress, ...soon() }, { echo: createEcho(program), handshake });
    t.like(output, { method: 'tcp', sent: 2, received: 2 });
  });
});

test('a ping program that hangs is ended at its timeout or when the call is cancelled', async (t) => {
  await withProgram('echo $$ > pid; exec sleep 600', async (program, folder) => {
    const gone = async () => {
      const pid = Number(await readFile(join(folder, 'pid'), 'utf8'));
      return t.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
    };
    const input = { host: 'example.com', count: 1, port: 443, timeoutMs: 100 };
    // A program that does not exit in time says nothing about the target, so the call fails instead of reporting packet
    // loss.
    await t.throwsAsync(run(input, { egress, ...soon() }, { echo: createEcho(program), handshake }), {
      code: 'deadline_exceeded',
    });
    await gone();
    await rm(join(folder, 'pid'));

    const cancel = new AbortController();
    const context = { egress, signal: cancel.signal, deadline: Date.now() + 60_000 };
    const work = run({ ...input, count: 10, timeoutMs: 5000 }, context, {
      echo: createEcho(program),
      handshake,
    });
    work.catch(() => undefined);
    await until('the program runs', async () => existsSync(join(folder, 'pid')));
    cancel.abort(new Error('cancelled'));
    await t.throwsAsync(work, { message: 'cancelled' });
  });
});

test('the time of a handshake is the one that its program reports, however busy the worker process is', async (t) => {
  await withProgram('echo ok 0.375', async (program) => {
    const input = { host: 'example.com', count: 2, port: 443, timeoutMs: 2000 };
    const probes = { echo: noEcho, handshake: createHandshake(program) };
    const busy = setInterval(blockEventLoop, 1, 150);
    try {
      const output = await run(input, { egress, ...soon() }, probes);
      t.like(output, { method: 'tcp', received: 2, minMs: 0.375, avgMs: 0.375, maxMs: 0.375, jitter: 0 });
    } finally {
      clearInterval(busy);
    }
  });
});

test('all slots of a worker process can probe at the same time', async (t) => {
  const input = { host: 'example.com', count: 4, port: 443, timeoutMs: 5000 };
  const outputs = await Promise.all(
    Array.from({ length: laneSlots('network', null).first }, () =>
      run(input, { egress, ...soon() }, { echo, handshake }),
    ),
  );
  for (const output of outputs) t.like(output, { method: 'icmp', sent: 4, received: 4 });
});

for (const address of ['127.0.0.1', '::1'])
  test(`a handshake with ${address} is reported as ok for an open port and as refused for a closed port`, async (t) => {
    const guard = guardFor([address]);
    const ask = async (port: number, timeoutMs = 2000) => {
      const input = { host: 'example.com', count: 1, port, timeoutMs };
      const output = await run(input, { egress: guard, ...soon() }, { echo: noEcho, handshake });
      t.like(output, { method: 'tcp', resolvedIp: address });
      return output.attempts[0]?.status;
    };
    const open = createServer();
    const { promise, resolve } = Promise.withResolvers<number>();
    open.listen(0, address, () => resolve(portOf(open)));
    t.is(await ask(await promise), 'ok');
    open.close();
    t.is(await ask(await freePort()), 'refused');
  });

test('a handshake without an answer ends at its timeout; a missing handshake program is an error, not an outcome', async (t) => {
  await withProgram('echo timeout', async (program) => {
    const input = { host: 'example.com', count: 2, port: 443, timeoutMs: 100 };
    const output = await run(
      input,
      { egress, ...soon() },
      { echo: noEcho, handshake: createHandshake(program) },
    );
    t.like(output, { received: 0, packetLossPercent: 100, avgMs: null });
  });
  for (const script of ['exit 1', 'echo hello'])
    await withProgram(script, async (program) => {
      const input = { host: 'example.com', count: 1, port: await freePort(), timeoutMs: 1000 };
      const output = await run(
        input,
        { egress, ...soon() },
        { echo: noEcho, handshake: createHandshake(program) },
      );
      t.is(output.attempts[0]?.status, 'refused');
    });
});

test('the permission to use ICMP is detected by sending a ping', async (t) => {
  const { signal } = new AbortController();
  t.true(await permitsIcmp('ping', signal));
  t.false(await permitsIcmp('no-such-program', signal));
  await withProgram("echo 'ping: socktype: SOCK_RAW' >&2; exit 2", async (program) =>
    t.false(await permitsIcmp(program, signal)),
  );
});

test('TCP: open and closed ports both count as replies', async (t) => {
  const open = await withServer(createServer(), (port) => probe({ port, count: 3 }));
  t.like(open, { method: 'tcp', resolvedIp: '127.0.0.1', sent: 3, received: 3, packetLossPercent: 0 });
  t.deepEqual([...new Set(open.attempts.map(({ status }) => status))], ['ok']);
  const latencies = open.attempts.map(({ latency }) => latency ?? Number.NaN);
  t.is(open.minMs, Math.min(...latencies));
  t.is(open.maxMs, Math.max(...latencies));

  const closed = await probe({ port: await freePort(), count: 2 });
  t.like(closed, { method: 'tcp', received: 2, packetLossPercent: 0 });
  t.deepEqual(
    closed.attempts.map(({ success, status }) => [success, status]),
    [
      [true, 'refused'],
      [true, 'refused'],
    ],
  );
});

test('without replies, packet loss is 100 % and there are no statistics; probes run concurrently', async (t) => {
  const events: string[] = [];
  const guard = guardFor(['127.0.0.1'], () => {
    events.push('start');
    return new Socket().on('close', () => events.push('end'));
  });
  const output = await probe({ count: 3, timeoutMs: 1500 }, guard);
  const lost = { success: false, latency: null, status: 'timeout' } as const;
  t.deepEqual(output, {
    resolvedIp: '127.0.0.1',
    method: 'tcp',
    sent: 3,
    received: 0,
    packetLossPercent: 100,
    minMs: null,
    avgMs: null,
    maxMs: null,
    jitter: null,
    attempts: [1, 2, 3].map((sequence) => ({ sequence, ...lost })),
  });
  t.deepEqual(events.slice(0, 3), ['start', 'start', 'start']);
});

test('a single reply has no jitter', async (t) => {
  let dials = 0;
  const guard = guardFor(['127.0.0.1'], (address, port) =>
    dials++ === 1 ? dialTcp(address, port) : new Socket(),
  );
  const output = await withServer(createServer(), (port) => probe({ port, count: 3, timeoutMs: 500 }, guard));
  t.like(output, { sent: 3, received: 1, packetLossPercent: 66.667, jitter: null });
  // The probes run concurrently, so they may connect in any order.
  const replied = output.attempts.filter(({ latency }) => latency !== null);
  t.deepEqual(
    replied.map(({ latency }) => latency),
    [output.avgMs],
  );
});

test('an unreachable network is reported as unreachable', async (t) => {
  const dial: Dial = () => {
    const socket = new Socket();
    const error = Object.assign(new Error('no route'), { code: 'EHOSTUNREACH' });
    return socket.destroy(error);
  };
  const output = await probe({ count: 1 }, guardFor(['127.0.0.1'], dial));
  t.like(output, { received: 0, attempts: [{ status: 'unreachable', latency: null }] });
});

test('cancelling the call ends the probes', async (t) => {
  const cancel = new AbortController();
  let dials = 0;
  const guard = guardFor(['127.0.0.1'], () => {
    dials++;
    return new Socket();
  });
  const input = { host: 'example.com', count: 10, port: 443, timeoutMs: 5000 };
  const work = run(
    input,
    { egress: guard, signal: cancel.signal, deadline: Date.now() + 60_000 },
    { echo: noEcho, handshake: noHandshake },
  );
  work.catch(() => undefined);
  await until('all probes run', async () => dials === input.count);
  cancel.abort(new Error('cancelled'));
  await t.throwsAsync(work, { message: 'cancelled' });
});

test('a host is accepted in any spelling; of a URL only the host is used', async (t) => {
  const port = await freePort();
  for (const host of ['127.0.0.1', '2130706433', '0x7f.1', '①②⑦.0.0.1', 'https://127.1:8443/a?b#c'])
    t.like(await probe({ host, port, count: 1 }), { resolvedIp: '127.0.0.1', received: 1 }, host);
  for (const host of ['[::1]', '::1', 'http://[::1]/'])
    t.like(await probe({ host, port, count: 1 }), { resolvedIp: '::1', received: 1 }, host);
  t.like(await probe({ port, count: 1 }, guardFor(['::1'])), { resolvedIp: '::1', received: 1 });
  t.like(await probe({ port, count: 1 }, guardFor(['::1', '127.0.0.1'])), { resolvedIp: '127.0.0.1' });
});

test('hosts that are not public are refused, and nothing is sent', async (t) => {
  // Uses only the cases about hosts, because this tool also accepts a URL and judges only its host.
  const rows = casesOf('host').filter(
    ({ input, verdict }) => verdict === 'refuse' && input !== 'http://example.com',
  );
  const urls = ['http://127.0.0.1/', 'https://[::1]:8443/', 'http://localhost/', 'http://user@example.com/'];
  for (const host of [...rows.map(({ input }) => input), ...urls, 'ftp://example.com/', '//example.com']) {
    const network = await stubNetwork({});
    const code = await codeOf(() => tool.call({ host }, { egress: network.guard }));
    network.close();
    t.true(['invalid_input', 'target_refused'].includes(code), `${host}: ${code}`);
    t.deepEqual(network.dialled, [], host);
  }
});

test('a name that does not exist is host_not_found', async (t) => {
  t.is(await codeOf(() => probe({}, guardFor([]))), 'host_not_found');
});

test('the numeric inputs are limited', async (t) => {
  for (const [field, low, high] of [
    ['count', 1, 10],
    ['port', 1, 65_535],
    ['timeoutMs', 100, 5000],
  ] as const) {
    for (const value of [low, high])
      t.is(tool.validate({ host: 'example.com', [field]: value })[field], value);
    for (const value of [low - 1, high + 1, low + 0.5]) {
      const faults = await faultsOf(tool, { host: 'example.com', [field]: value });
      t.deepEqual(
        faults.map(({ pointer }) => pointer),
        [`/${field}`],
      );
    }
  }
  t.like(tool.validate({ host: 'example.com' }), { count: 4, port: 443, timeoutMs: 2000 });
});
