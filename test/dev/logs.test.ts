import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { logStream } from '../../dev/logs.ts';

const DISK_BYTES = 65_536;

function run(file: string, args: string[]): void {
  const { status, stderr } = spawnSync(file, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${file}: ${stderr}`);
}

test('a log on a full disk drops lines, logs that it did so, and continues when there is space again', async (t) => {
  await using open = new AsyncDisposableStack();
  const disk = open.adopt(await mkdtemp(join(tmpdir(), 'utility-tools-logs-')), rmdir);
  run('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', disk]);
  open.defer(() => run('umount', ['-l', disk]));
  const shown: string[] = [];
  const stream = logStream(disk, 'child', (line) => shown.push(line));
  const write = (line: string) =>
    new Promise<void>((resolve, reject) => {
      stream.write(`${line}\n`, (error) => (error ? reject(error) : resolve()));
    });

  await write('before');
  const ballast = join(disk, 'ballast');
  await t.throwsAsync(writeFile(ballast, Buffer.alloc(DISK_BYTES)), { code: 'ENOSPC' });
  // The last page of the file still has space for some lines.
  for (let i = 0; i < 100; i++) await write(`full ${i} ${'x'.repeat(100)}`);
  t.is(shown.length, 1, shown.join('\n'));
  t.regex(shown[0] ?? '', /^child: cannot write its log \(ENOSPC/);
  await rm(ballast);
  await write('after');
  stream.end();
  await once(stream, 'close');

  const text = await readFile(join(disk, 'child.log'), 'utf8');
  const missing = Number(/^{"level":40,"msg":"(\d+) lines are missing"}$/m.exec(text)?.[1]);
  t.is(missing + [...text.matchAll(/^full \d+ x{100}$/gm)].length, 100);
  t.regex(text, /^before\nfull 0 /);
  t.regex(text, /\nafter\n$/);
  t.is(shown[1], `child: can write its log again; ${missing} lines are missing`);
});
