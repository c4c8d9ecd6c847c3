import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const PREFIX = 'utility-tools-browsers-';

/** Whether any user may pass through a folder and all above it. */
async function isPassable(folder: string): Promise<boolean> {
  const { mode } = await stat(folder);
  if ((mode & 0o001) === 0) return false;
  return dirname(folder) === folder || isPassable(dirname(folder));
}

/** The first folder for temporary files that Chromium, which is another user than root, can reach. */
async function chooseParent(): Promise<string> {
  for (const folder of [tmpdir(), '/tmp', '/var/tmp', '/dev/shm'])
    if (await isPassable(folder).catch(() => false)) return folder;
  return tmpdir();
}

const isRunning = (pid: number): Promise<boolean> =>
  stat(`/proc/${pid}`).then(
    () => true,
    () => false,
  );

/** What workers that were killed have left: sockets and empty folders. */
async function removeAbandoned(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(/^utility-tools-browsers-(\d+)-/.exec(name)?.[1]);
    if (Number.isNaN(pid) || pid === process.pid || (await isRunning(pid))) continue;
    await rm(join(parent, name), { recursive: true, force: true }).catch(() => undefined);
  }
}

/** A folder for the sockets and profiles of this process's browsers; gone when it is disposed of. */
export async function makeBrowserFolder(): Promise<{ path: string } & AsyncDisposable> {
  const parent = await chooseParent();
  await removeAbandoned(parent);
  const path = await mkdtemp(join(parent, `${PREFIX}${process.pid}-`));
  await chmod(path, 0o711);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}
