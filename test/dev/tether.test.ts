import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import test from 'ava';
import { processesWith, remaining } from '../helpers/processes.ts';
import { until } from '../helpers/until.ts';

const module = new URL('../../dev/tether.ts', import.meta.url).href;

for (const [way, pdeathsig] of [
  ['the kernel', 'true'],
  ['a process in between', 'false'],
] as const)
  test(`a program ends when its parent is killed: ${way}`, async (t) => {
    // A random duration, so that the command line identifies this program.
    const argument = String(randomInt(1_000_000, 9_000_000));
    const script = `import { spawn } from 'node:child_process';
      const { tethered } = await import(${JSON.stringify(module)});
      const { file, args, ipc } = tethered('sleep', [process.argv[1]], ${pdeathsig});
      spawn(file, args, { stdio: ['ignore', 'ignore', 'inherit', ...(ipc ? ['ipc'] : [])], detached: true });
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', script, argument], {
      stdio: 'inherit',
    });
    t.teardown(() => parent.kill('SIGKILL'));
    // Matches only the program, not the intermediate process, whose command line contains the program's.
    const program = new RegExp(`^\\d+ sleep ${argument} ?$`);
    const running = () => processesWith(argument).filter((line) => program.test(line));
    await until('the program runs', async () => running().length === 1);
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    t.deepEqual(await remaining(argument), []);
  });
