import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { until } from '../helpers/until.ts';
import type { Scene } from './scene.ts';

const ATTACKER = fileURLToPath(new URL('attacker.ts', import.meta.url));

/** A running attack. Disposing it kills its process. */
interface Attacker extends AsyncDisposable {
  /** Number of connections or requests until now. @see Attack.run */
  count(): number;
}

/**
 * Runs an attack in a process of its own. Resolves when it has begun and `openMs` have passed, in which connections are opened and
 * queues fill.
 *
 * @throws Error if the attack has ended by itself
 */
export async function startAttacker(
  name: string,
  scene: Scene,
  { share, openMs }: { share: number; openMs: number },
): Promise<Attacker> {
  const args = [ATTACKER, name, JSON.stringify(scene), String(share)];
  const attacker = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ended = once(attacker, 'exit');
  let count = 0;
  attacker.on('message', () => {
    count++;
  });
  const check = (): number => {
    if (attacker.exitCode !== null) throw new Error(`the attack "${name}" ended with ${attacker.exitCode}`);
    return count;
  };
  await using open = new AsyncDisposableStack();
  open.defer(async () => {
    attacker.kill('SIGKILL');
    await ended;
  });
  await until(`the attack "${name}" begins`, async () => check() > 0);
  await sleep(openMs);
  const running = open.move();
  return { count: check, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
