import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

// This file is plain JavaScript, because the installation step uses it and may run on a Node version that cannot load
// TypeScript.

/**
 * Returns the start time of a process, which distinguishes it from a later process with the same pid; '' on systems
 * without /proc. The start time is field 22 of /proc/<pid>/stat (proc(5)). The command name, an earlier field, may
 * contain spaces and parentheses, so fields are counted after its last parenthesis.
 */
async function startTime(pid) {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

async function isAlive(holder) {
  const [pid, started] = holder.split(' ');
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
  return (await startTime(pid)) === started;
}

async function read(file) {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Replaces the lock of a process that has died. Only the process that has the claim, a file whose name contains the identity of
 * the dead one, may do so, and only while the lock is still that of the dead one. A claim is held for a few system calls.
 *
 * @returns {Promise<boolean>} false if another process has replaced the lock or is about to
 */
async function replace(file, dead, draft) {
  const claim = `${file}.after-${dead.replace(' ', '-')}`;
  try {
    await link(draft, claim);
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    const claimant = await read(claim);
    if (claimant !== null && !(await isAlive(claimant))) await rm(claim, { force: true });
    return false;
  }
  if ((await read(file)) === dead) {
    await rename(claim, file);
    return true;
  }
  await rm(claim, { force: true });
  return false;
}

/**
 * Acquires the lock `file` for this process. Replaces the lock of a process that has died.
 *
 * @param {string} file
 * @returns {Promise<{ release(): Promise<void>, abandoned: boolean } | null>} null when another process holds the lock;
 *   `abandoned` is true when the previous holder died without releasing it
 */
export async function acquireLock(file) {
  await mkdir(dirname(file), { recursive: true });
  const own = `${process.pid} ${await startTime(process.pid)}`;
  const draft = `${file}.${randomUUID()}`;
  let abandoned = false;
  await writeFile(draft, own);
  try {
    for (;;) {
      try {
        // link(2) is atomic: the lock file appears together with its content, and the call fails if the file exists.
        await link(draft, file);
        return { release: () => rm(file, { force: true }), abandoned };
      } catch (error) {
        if (error.code !== 'EEXIST') throw error;
      }
      const holder = await read(file);
      if (holder === null) continue;
      if (await isAlive(holder)) return null;
      abandoned = true;
      if (await replace(file, holder, draft)) return { release: () => rm(file, { force: true }), abandoned };
    }
  } finally {
    await rm(draft, { force: true });
  }
}
