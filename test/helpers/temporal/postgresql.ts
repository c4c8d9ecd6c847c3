import { globSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machineEnv } from '../../../dev/host.mjs';
import { OwnedProcess } from '../../../dev/process.ts';
import { run } from '../../../dev/programs/run.ts';
import { tethered } from '../../../dev/tether.ts';
import { until } from '../until.ts';

export const POSTGRESQL_PORT = 5432;
/** The only database user. It needs no password. */
export const POSTGRESQL_USER = 'temporal';
const LIMITS = { idleMs: 60_000, totalMs: 60_000 };
const READY_MS = 60_000;

/**
 * PostgreSQL refuses to run as root. In a user namespace it sees another user and still has access to the folders of this
 * one.
 */
const asUser = (file: string, args: string[]) => ({
  file: 'unshare',
  args: ['--user', '--map-user=1000', '--map-group=1000', file, ...args],
});

/** Starts a PostgreSQL server with Debian's programs. It ends with `open`. */
export async function startPostgresql(
  open: AsyncDisposableStack,
  address: string,
  log: (line: string) => void,
): Promise<void> {
  const [bin] = globSync('/usr/lib/postgresql/*/bin');
  if (bin === undefined) throw new Error('PostgreSQL is not installed');
  const folder = open.adopt(await mkdtemp(join(tmpdir(), 'utility-tools-postgresql-')), (it) =>
    rm(it, { recursive: true, force: true }),
  );
  const env = { ...machineEnv(), LC_ALL: 'C.UTF-8' };
  const data = join(folder, 'data');
  const init = asUser(join(bin, 'initdb'), ['-D', data, '-U', POSTGRESQL_USER, '-A', 'trust', '--no-sync']);
  await run(init.file, init.args, { env, cwd: '/', ...LIMITS });
  // It is never killed, so its data need not reach the disk.
  const args = ['-D', data, '-h', address, '-p', String(POSTGRESQL_PORT), '-k', '', '-c', 'fsync=off'];
  const server = open.adopt(
    new OwnedProcess({
      name: 'postgresql',
      command() {
        const { ipc, ...wrapped } = tethered(join(bin, 'postgres'), args);
        return { ...asUser(wrapped.file, wrapped.args), env, ipc };
      },
      ready: (_child, signal) =>
        until(
          'PostgreSQL is ready',
          async () => {
            signal.throwIfAborted();
            const host = ['-h', address, '-p', String(POSTGRESQL_PORT)];
            return run(join(bin, 'pg_isready'), host, { env, ...LIMITS }).then(
              () => true,
              () => false,
            );
          },
          READY_MS,
        ),
      readyMs: READY_MS,
      graceMs: 10_000,
      logDir: join(folder, 'logs'),
      showOutput: false,
      thirdParty: true,
      log,
      supervise: false,
    }),
    (it) => it.stop(),
  );
  await server.start();
}
