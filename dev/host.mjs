import { homedir } from 'node:os';
import { join } from 'node:path';

/** Environment variables that child processes inherit. All others are withheld, because they may contain secrets. */
const NAMES = [
  'PATH',
  'HOME',
  'USER',
  'LANG',
  'LC_ALL',
  'TZ',
  'TMPDIR',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
  'NODE_COMPILE_CACHE',
];

const pick = (names) =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );

/** Returns the environment variables of this process that every child process gets. */
export const machineEnv = () => pick(NAMES);

/** Returns those of the named environment variables that are set, including their `_FILE` forms. */
export const serviceEnv = (names) => pick(names.flatMap((name) => [name, `${name}_FILE`]));

/**
 * Returns the whole environment of this process, for package managers, whose proxies, mirrors and certificates it
 * configures.
 */
export const clientEnv = () => ({ ...process.env });

/** Returns the folder of the programs that were fetched for this project. All checkouts of a user share it. */
export const cacheFolder = () =>
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'utility-tools-api');
