import { access, chmod, constants, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ServiceError } from '../../schemas/errors.ts';
import { isRoot } from './boundary.ts';

const PREFIX = 'ut-browsers-';
/** Longest path of a Unix socket in bytes (unix(7): 108, including the terminating null byte). */
const SOCKET_PATH_BYTES = 107;
/**
 * The longest path that Chromium creates below the parent folder, the one of its singleton socket. Chromium crashes
 * when the whole path is too long for a socket.
 */
const LONGEST = `/${PREFIX}4194304-XXXXXX/bXXXXXX/profile/org.chromium.Chromium.XXXXXX/SingletonSocket`;
const PARENT_BYTES = SOCKET_PATH_BYTES - LONGEST.length;

/** Whether any user may traverse a folder and all its ancestors. */
async function isPassable(folder: string): Promise<boolean> {
  const { mode } = await stat(folder);
  if ((mode & 0o001) === 0) return false;
  return dirname(folder) === folder || isPassable(dirname(folder));
}

/**
 * Whether the worker can create a folder in `folder` that Chromium can reach. If the worker runs as root, Chromium runs
 * as another user.
 */
async function isUsable(folder: string): Promise<boolean> {
  if (Buffer.byteLength(folder) > PARENT_BYTES) return false;
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    return !isRoot || (await isPassable(folder));
  } catch {
    return false; // The folder does not exist, or access to it is denied.
  }
}

async function chooseParent(): Promise<string> {
  for (const folder of [tmpdir(), '/tmp', '/var/tmp', '/dev/shm']) if (await isUsable(folder)) return folder;
  throw new ServiceError('tool_unavailable', {
    detail: 'The server has no folder in which Chromium can run.',
    cause: new Error(
      `set TMPDIR to a folder that the worker can write to and any user can traverse, with a path of at most ${PARENT_BYTES} bytes`,
    ),
  });
}

const isRunning = (pid: number): Promise<boolean> =>
  stat(`/proc/${pid}`).then(
    () => true,
    () => false,
  );

/** Removes the folders that killed workers have left behind, with the empty folders in them. */
async function removeAbandoned(parent: string, log: (line: string) => void): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(/^ut-browsers-(\d+)-/.exec(name)?.[1]);
    if (Number.isNaN(pid) || pid === process.pid || (await isRunning(pid))) continue;
    const path = join(parent, name);
    try {
      await rm(path, { recursive: true, force: true });
    } catch (error) {
      log(
        `the folder ${path} of a killed worker could not be removed: ${error instanceof Error ? error.message : error}`,
      );
    }
  }
}

/**
 * Creates a folder for the profiles of this process's browsers. Disposing of the result removes the folder.
 *
 * @throws ServiceError tool_unavailable when no parent folder is usable
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
