import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';

const run = promisify(execFile);

/** What a reader of a successful call of hash-text may pass at most. Lower a bound when the path has become shorter. */
const BOUNDS = { files: 123, hops: 27, types: 24 };

test('the path of a call does not get longer', async (t) => {
  t.timeout(300_000);
  const root = join(import.meta.dirname, '..');
  const { stdout } = await run(process.execPath, [join(root, 'dev/callPath.ts')]);
  for (const [name, most] of Object.entries(BOUNDS)) {
    const count = Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(stdout)?.[1]);
    t.true(count > 0 && count <= most, `${count} ${name}; node dev/callPath.ts --list shows them`);
  }
});
