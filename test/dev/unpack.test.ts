import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { machineEnv } from '../../dev/host.mjs';
import { backportsConfig, findMissing, unpack } from '../../dev/programs/unpack.mjs';

const exec = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), 'unpack-test-'));
// Where root runs the tests, packages are unpacked only where other users can enter.
await chmod(folder, 0o755);
const cache = join(folder, 'utility-tools-api');
process.env.XDG_CACHE_HOME = folder;
test.after.always(() => rm(folder, { recursive: true }));

/** Builds a Debian package. @param files content of its files, or the target of a symbolic link that begins with "-> " */
async function build(name: string, depends: string, files: Record<string, string>): Promise<string> {
  const root = join(folder, 'sources', name);
  const control = [
    `Package: ${name}`,
    'Version: 1.0',
    'Architecture: all',
    'Maintainer: test <test@example.com>',
  ];
  if (depends !== '') control.push(`Depends: ${depends}`);
  const all = { ...files, 'DEBIAN/control': `${[...control, 'Description: test'].join('\n')}\n` };
  for (const [path, content] of Object.entries(all)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    if (content.startsWith('-> ')) await symlink(content.slice(3), join(root, path));
    else await writeFile(join(root, path), content, { mode: 0o755 });
  }
  const file = join(folder, 'repository', `${name}.deb`);
  await exec('dpkg-deb', ['--root-owner-group', '--build', root, file], { env: machineEnv() });
  const bytes = await readFile(file);
  const digest = createHash('sha256').update(bytes).digest('hex');
  return `${control.join('\n')}\nFilename: ./${basename(file)}\nSize: ${bytes.length}\nSHA256: ${digest}\nDescription: test\n`;
}

test.before(async () => {
  await mkdir(join(folder, 'repository'));
  const entries = [
    await build('unpack-test-program', 'unpack-test-library, dpkg', {
      'usr/bin/no-such-program-e': '#!/bin/sh\necho runs\n',
      'usr/share/unpack-test/link': '-> /usr/share/unpack-test/data',
      'usr/share/unpack-test/elsewhere': '-> /etc/passwd',
      'etc/fonts/conf.d/10-test.conf': '<fontconfig/>',
    }),
    await build('unpack-test-library', '', { 'usr/share/unpack-test/data': 'of the library\n' }),
  ];
  await writeFile(join(folder, 'repository/Packages'), entries.join('\n'));
  await writeFile(join(folder, 'sources.list'), `deb [trusted=yes] copy:${folder}/repository ./\n`);
  const settings = [`Dir::Etc::sourcelist "${folder}/sources.list";`, 'Dir::Etc::sourceparts "-";'];
  await writeFile(join(folder, 'apt.conf'), settings.join('\n'));
  process.env.APT_CONFIG = join(folder, 'apt.conf');
});

const program = [{ program: 'no-such-program-e', package: 'unpack-test-program' }];
const quiet = { log: () => undefined };
const installed = () => readFile('/var/lib/dpkg/status', 'utf8');

test.serial('a program that the system has is not fetched', async (t) => {
  const found = await unpack('none', [{ program: 'sh', package: 'dash' }], { log: (line) => t.fail(line) });
  t.is(found, '');
});

test.serial(
  'a missing program is unpacked with its dependencies, and the system stays as it is',
  async (t) => {
    const before = await installed();
    const lines: string[] = [];
    const log = (line: string) => lines.push(line);
    const roots = await Promise.all([unpack('tools', program, { log }), unpack('tools', program, { log })]);
    t.deepEqual(roots, Array(2).fill(join(cache, 'tools')));
    t.is(lines.filter((line) => line.includes('downloading 2 packages')).length, 1, lines.join('\n'));
    const { stdout } = await exec(join(cache, 'tools/usr/bin/no-such-program-e'));
    t.is(stdout, 'runs\n');
    t.is(await readFile(join(cache, 'tools/usr/share/unpack-test/link'), 'utf8'), 'of the library\n');
    t.is(
      await readFile(join(cache, 'tools/usr/share/unpack-test/elsewhere'), 'utf8'),
      await readFile('/etc/passwd', 'utf8'),
    );
    t.true(
      (await readFile(join(cache, 'tools/fonts.conf'), 'utf8')).includes(
        join(cache, 'tools/etc/fonts/conf.d'),
      ),
    );
    t.deepEqual(await readdir(cache), ['tools']);
    t.is(await installed(), before);
    t.is((await findMissing(program)).length, 1);
    t.is(await unpack('tools', program, { log: (line) => t.fail(line) }), join(cache, 'tools'));
  },
);

test.serial('on Debian 12, apt takes the marked packages from the backports', async (t) => {
  const own = join(folder, 'backports');
  await mkdir(own);
  t.is(await backportsConfig(own, program), '');
  const marked = program.map((it) => ({ ...it, backports: true }));
  const isDebian12 = /^VERSION_CODENAME=bookworm$/m.test(await readFile('/etc/os-release', 'utf8'));
  t.is((await backportsConfig(own, marked)) !== '', isDebian12);
  if (isDebian12)
    t.regex(await readFile(join(own, 'sources.list'), 'utf8'), /^deb .* bookworm-backports main$/m);
});

test.serial('a program for which the operator has set another one is not fetched', async (t) => {
  process.env.UNPACK_TEST_PATH = '/opt/another';
  const replaced = program.map((it) => ({ ...it, unless: 'UNPACK_TEST_PATH' }));
  t.is(await unpack('replaced', replaced, { log: (line) => t.fail(line) }), '');
});

test.serial('if a package cannot be fetched, the error says why, and no files remain', async (t) => {
  const missing = [{ program: 'no-such-program-f', package: 'unpack-test-no-such-package' }];
  await t.throwsAsync(unpack('failing', missing, quiet), {
    message: /Unable to locate package unpack-test-no-such-package/,
  });
  t.deepEqual(await readdir(cache), ['tools']);
});
