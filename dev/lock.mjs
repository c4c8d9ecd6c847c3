import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

// Plain JavaScript because the installation step uses it too, before there is a Node that reads TypeScript.

/**
 * A number that tells a process from a later one with the same pid, where the system offers one.
 * Field 22 of /proc/<pid>/stat, proc(5); the command name before it may hold spaces and parentheses.
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
 * Moves a dead holder's lock away. Of two who try, one wins the rename; one who by then took hold of a new
 * holder's lock puts it back.
 */
async function clear(file, dead) {
  const aside = `${file}.${randomUUID()}`;
  try {
    await rename(file, aside);
    if ((await readFile(aside, 'utf8')) !== dead) await link(aside, file);
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

/**
 * Takes the lock `file` for this process. It needs no release when the process dies: a lock whose holder is
 * gone is taken over.
 *
 * @param {string} file
 * @returns {Promise<{ release(): Promise<void>, abandoned: boolean } | null>} null when another process holds
 *   it; abandoned: the holder before was killed
 */
export async function takeLock(file) {
  await mkdir(dirname(file), { recursive: true });
  const own = `${process.pid} ${await startTime(process.pid)}`;
  const draft = `${file}.${randomUUID()}`;
  let abandoned = false;
  await writeFile(draft, own);
  try {
    for (;;) {
      try {
        // link(2) makes the file appear with its content, and fails when there is one.
        await link(draft, file);
        return { release: () => rm(file, { force: true }), abandoned };
      } catch (error) {
        if (error.code !== 'EEXIST') throw error;
      }
      const holder = await read(file);
      if (holder === null) continue;
      if (await isAlive(holder)) return null;
      abandoned = true;
      await clear(file, holder);
    }
  } finally {
    await rm(draft, { force: true });
  }
}
