import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { makeAccount } from '../helpers/account.ts';
import type { Stack } from '../helpers/stack.ts';
import { ATTACKS } from './attacks.ts';
import { type Measured, measure } from './measure.ts';
import type { Sizes } from './sizes.ts';

export interface ConnectionsRow {
  /** Name of the attack that runs during the calls. */
  attackName: string;
  /** Figures of sequential hash-text calls of one caller. */
  call: Measured;
  /** p95 of the calls during the attack, divided by the mean p95 of the calls before and after it. */
  ratio: number;
  /** Peak memory of the API process in MB. */
  memory: number;
}

const ATTACKER = fileURLToPath(new URL('attacks.ts', import.meta.url));

/** Runs an attack in a process of its own while `work` runs. */
async function underAttack<T>(
  name: string,
  baseUrl: string,
  key: string,
  { share, openMs }: Sizes['connections'],
  work: () => Promise<T>,
): Promise<T> {
  const attacker = spawn(process.execPath, [ATTACKER, name, baseUrl, key, String(share)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(attacker, 'exit');
  try {
    await sleep(openMs);
    if (attacker.exitCode !== null) throw new Error(`the attack "${name}" ended with ${attacker.exitCode}`);
    return await work();
  } finally {
    attacker.kill('SIGKILL');
    await ended;
  }
}

/** Measures the calls of one caller and the memory of the API while other connections attack the API. */
export async function benchConnections(stack: Stack, sizes: Sizes['connections']): Promise<ConnectionsRow[]> {
  const [caller, other] = [await makeAccount(stack, 1_000_000), await makeAccount(stack, 1_000_000)];
  const call = async (index: number) => {
    const response = await caller.call('hash-text', { text: `bench ${index}` });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  };
  const memory = (): number =>
    Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${stack.pid('api')}/status`, 'utf8'))?.[1]) / 1024;
  const calls = () => measure(sizes.calls, 1, call);

  await measure(sizes.warmUp, 1, call);
  const rows: ConnectionsRow[] = [];
  let before = await calls();
  for (const attackName of Object.keys(ATTACKS)) {
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, memory());
    }, 100);
    try {
      const during = await underAttack(attackName, stack.baseUrl, other.toolsKey, sizes, calls);
      const after = await calls();
      rows.push({
        attackName,
        call: during,
        ratio: (2 * during.p95) / (before.p95 + after.p95),
        memory: most,
      });
      before = after;
    } finally {
      clearInterval(watch);
    }
  }
  return rows;
}
