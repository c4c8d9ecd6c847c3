import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { findLists } from '../activities/browser/ads.ts';
import { findChromium } from '../activities/browser/resource.ts';
import { programVariables } from '../activities/runtime/programs.ts';
import { openSandbox } from '../activities/runtime/sandbox.ts';

// Not in the folder for temporary files, which may be below /dev: a sandbox has a /dev of its own.
const root = await mkdtemp('/tmp/programs-test-');
test.after.always(() => rm(root, { recursive: true }));
test.before(async () => {
  // Where root runs the tests, the sandbox runs as another user.
  await chmod(root, 0o755);
  for (const path of [
    'usr/lib/chromium/no-such-chromium',
    'usr/lib/x86_64-linux-gnu/libtest.so.1',
    'usr/lib/libreoffice/program/libtest.so.1',
    'usr/lib/python3.11/os.py',
  ]) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), '');
  }
});

test('installed programs precede unpacked ones', (t) => {
  const { PATH = '' } = programVariables(root);
  const own = programVariables(null).PATH;
  t.true(PATH.startsWith(`${own}:`));
  t.true(PATH.split(':').includes(join(root, 'usr/bin')));
});

test("the folders of libraries that exist are searched, LibreOffice's first", (t) => {
  const folders = ['usr/lib/libreoffice/program', 'usr/lib/x86_64-linux-gnu'].map((it) => join(root, it));
  t.is(programVariables(root).LD_LIBRARY_PATH, folders.join(':'));
});

test('an unpacked Chromium is used if none is installed', async (t) => {
  const names = ['no-such-chromium'];
  t.is(await findChromium(null, names, root), join(root, 'usr/lib/chromium/no-such-chromium'));
  const error = await t.throwsAsync(findChromium(null, names));
  t.is(error.message, 'Chromium is not installed on this server.');
});

test('installed filter lists are used rather than unpacked ones', async (t) => {
  t.is(await findLists(root), await findLists(null));
});

test('a sandbox contains the folder and the variables that it is given, and no others', async (t) => {
  const sandbox = await openSandbox(root);
  const limits = { memoryBytes: 2 ** 30, cpuSeconds: 5, fileBytes: 2 ** 20, scratchBytes: 2 ** 20 };
  const read = async (folders: string[]) => {
    const process = sandbox.start({
      script: 'ls "$1" 2>/dev/null; echo "$FONTCONFIG_FILE"; env | grep -c LD_LIBRARY_PATH',
      args: [join(root, 'usr/lib/chromium')],
      folders,
      variables: { FONTCONFIG_FILE: '/fonts.conf' },
      limits: { ...limits, openFiles: 64, processes: 64 },
    });
    return text(process.stdout);
  };
  t.is(await read([root]), 'no-such-chromium\n/fonts.conf\n0\n');
  t.is(await read([]), '/fonts.conf\n0\n');
});
