import { access, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { findOrFetch, type ProgramSource } from '../../dev/programs/find.ts';
import { run } from '../../dev/programs/run.ts';
import { remaining } from '../helpers/processes.ts';

const folder = await mkdtemp(join(tmpdir(), 'programs-test-'));
process.env.XDG_CACHE_HOME = folder;
test.after.always(() => rm(folder, { recursive: true }));

const script =
  (text: string): ProgramSource['fetch'] =>
  async (into) => {
    const path = join(into, 'program');
    await writeFile(path, `#!/bin/sh\n${text}\n`);
    return path;
  };

test('the first source that provides a working program is used, and later runs use the cache', async (t) => {
  const lines: string[] = [];
  const program = {
    name: 'no-such-program-a',
    help: 'it.',
    sources: [
      { title: 'a way that fails', fetch: () => Promise.reject(new Error('no network')) },
      { title: 'a program that does not run here', fetch: script('exit 1') },
      { title: 'a good way', fetch: script('echo 1.0') },
      { title: 'one too many', fetch: () => Promise.reject(new Error('must not be called')) },
    ],
  };
  const path = await findOrFetch(program, (line) => lines.push(line));
  t.is(await run(path, ['--version'], { env: {}, idleMs: 5_000, totalMs: 5_000 }), '1.0\n');
  t.true(lines.some((line) => line.includes('no network')));
  t.false(lines.some((line) => line.includes('one too many')));
  t.is(await findOrFetch({ ...program, sources: [] }, () => t.fail('nothing is fetched twice')), path);
});

test('concurrent requests for the same program download it once', async (t) => {
  let fetched = 0;
  const fetch: ProgramSource['fetch'] = async (into, log, signal) => {
    fetched += 1;
    return script('exit 0')(into, log, signal);
  };
  const program = { name: 'no-such-program-b', help: 'it.', sources: [{ title: 'slowly', fetch }] };
  const paths = await Promise.all([1, 2, 3].map(() => findOrFetch(program, () => undefined)));
  t.is(new Set(paths).size, 1);
  t.is(fetched, 1);
});

test('if no source has the program, the error is one line that says what to install, and no files remain', async (t) => {
  const program = {
    name: 'no-such-program-c',
    help: 'it, or set X.',
    sources: [{ title: 'badly', fetch: script('exit 3') }],
  };
  const error = await t.throwsAsync(findOrFetch(program, () => undefined));
  t.is(error.message, 'no-such-program-c is not installed and could not be fetched. Install it, or set X.');
  const cache = await readdir(join(folder, 'utility-tools-api'));
  t.deepEqual(
    cache.filter((name) => name.startsWith(program.name)),
    [],
  );
});

test('a download that stalls is ended with all its processes; one that makes progress continues', async (t) => {
  const work = await mkdtemp(join(folder, 'work-'));
  const limits = { env: { PATH: process.env.PATH, MARK: work }, totalMs: 60_000, folder: work };
  const hang = run('sh', ['-c', 'sleep 300 & sleep 300'], { ...limits, idleMs: 1_500 });
  await t.throwsAsync(hang, { message: /no progress/ });
  t.deepEqual(await remaining(work), []);
  const slow = `for i in 1 2 3 4 5 6 7 8 9 10; do echo x >> ${work}/part; sleep 0.4; done; mv ${work}/part ${work}/whole`;
  await run('sh', ['-c', slow], { ...limits, idleMs: 3_000 });
  await t.notThrowsAsync(access(join(work, 'whole')));
});

test('an error contains the last line that the program printed', async (t) => {
  const failing = run('sh', ['-c', 'echo one; echo the reason >&2; exit 4'], {
    env: {},
    idleMs: 5_000,
    totalMs: 5_000,
  });
  await t.throwsAsync(failing, { message: 'the reason' });
});

test('a program on PATH that is too old is ignored; if a folder is configured, the program in it is used', async (t) => {
  const old = await mkdtemp(join(folder, 'old-'));
  await writeFile(join(old, 'no-such-program-d'), '#!/bin/sh\necho version 1.9\n', { mode: 0o755 });
  const { PATH } = process.env;
  process.env.PATH = `${old}:${PATH}`;
  try {
    const program = {
      name: 'no-such-program-d',
      within: 'bin/program',
      version: { args: ['version'], pattern: /^version 2\./ },
      help: 'it.',
      sources: [
        {
          title: 'whole',
          async fetch(into: string) {
            await mkdir(join(into, 'whole/bin'), { recursive: true });
            await writeFile(join(into, 'whole/bin/program'), '#!/bin/sh\necho "$1" 2.0\n');
            return join(into, 'whole');
          },
        },
      ],
    };
    const path = await findOrFetch(program, () => undefined);
    t.is(path, join(folder, 'utility-tools-api/no-such-program-d/bin/program'));
    t.is(await findOrFetch({ ...program, sources: [] }, () => undefined), path);
  } finally {
    process.env.PATH = PATH;
  }
});
