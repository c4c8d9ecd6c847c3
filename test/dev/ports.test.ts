import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';

const PROCESSES = 8;
const PORTS = 100;

/** Prints free ports, and exits when its input ends. */
const SCRIPT = `
  import { freePort } from './dev/ports.ts';
  console.log(JSON.stringify(await Promise.all(Array.from({ length: ${PORTS} }, () => freePort()))));
  process.stdin.resume();
`;

test('processes that run at the same time get different ports, although no server listens on them yet', async (t) => {
  const chosen = await Promise.all(
    Array.from({ length: PROCESSES }, async () => {
      const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', SCRIPT], {
        timeout: 60_000,
      });
      await new Promise((resolve) => run.child.stdout?.once('data', resolve));
      return { run, end: () => run.child.stdin?.end() };
    }),
  );
  for (const { end } of chosen) end();
  const ports: number[] = [];
  for (const { run } of chosen) ports.push(...JSON.parse((await run).stdout));
  t.is(ports.length, PROCESSES * PORTS);
  t.is(new Set(ports).size, ports.length);
});
