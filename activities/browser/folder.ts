import { access, chmod, constants, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ServiceError } from '../../schemas/errors.ts';
import { isRoot } from './boundary.ts';

const PREFIX = 'ut-browsers-';
/** Of the path of a Unix socket (unix(7): 108 with the zero at its end). */
const SOCKET_PATH_BYTES = 107;
/** The longest that comes under our parent: by this socket Chromium sees whether it runs already. It crashes where it is too long. */
const LONGEST = `/${PREFIX}4194304-XXXXXX/bXXXXXX/profile/org.chromium.Chromium.XXXXXX/SingletonSocket`;
const PARENT_BYTES = SOCKET_PATH_BYTES - LONGEST.length;

/** Whether any user may pass through a folder and all above it. */
async function isPassable(folder: string): Promise<boolean> {
  const { mode } = await stat(folder);
  if ((mode & 0o001) === 0) return false;
  return dirname(folder) === folder || isPassable(dirname(folder));
}

/** Whether we can make our folder in this one, and Chromium, which is another user where we are root, can reach it. */
async function isUsable(folder: string): Promise<boolean> {
  if (Buffer.byteLength(folder) > PARENT_BYTES) return false;
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    return !isRoot || (await isPassable(folder));
  } catch {
    return false; // Not there, or not ours to use.
  }
}

async function chooseParent(): Promise<string> {
  for (const folder of [tmpdir(), '/tmp', '/var/tmp', '/dev/shm']) if (await isUsable(folder)) return folder;
  throw new ServiceError('tool_unavailable', {
    detail: 'Chromium has no folder for its files here.',
    cause: new Error(
      `set TMPDIR to a folder that the worker may write in and any user may pass through, of at most ${PARENT_BYTES} characters`,
    ),
  });
}

const isRunning = (pid: number): Promise<boolean> =>
  stat(`/proc/${pid}`).then(
    () => true,
    () => false,
  );

/** What workers that were killed have left: sockets and empty folders. */
async function removeAbandoned(parent: string, log: (line: string) => void): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(/^ut-browsers-(\d+)-/.exec(name)?.[1]);
    if (Number.isNaN(pid) || pid === process.pid || (await isRunning(pid))) continue;
    const path = join(parent, name);
    try {
      await rm(path, { recursive: true, force: true });
    } catch (error) {
      log(`${path} is left of a worker that was killed: ${error instanceof Error ? error.message : error}`);
    }
  }
}

/**
 * A folder for the sockets and profiles of this process's browsers; gone when it is disposed of.
 *
 * @throws ServiceError tool_unavailable when there is no place for one
 */
export async function makeBrowserFolder(
  log: (line: string) => void,
): Promise<{ path: string } & AsyncDisposable> {
  const parent = await chooseParent();
  await removeAbandoned(parent, log);
  const path = await mkdtemp(join(parent, `${PREFIX}${process.pid}-`));
  await chmod(path, 0o711);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}
