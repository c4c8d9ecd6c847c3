import { homedir } from 'node:os';
import { join } from 'node:path';

/** Variables that child processes inherit. All others are withheld, because they may hold secrets. */
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

/** Returns the environment that every child process gets. */
export const machineEnv = () => pick(NAMES);

/** Returns those of the named service variables that are set, including their `_FILE` forms. */
export const serviceEnv = (names) => pick(names.flatMap((name) => [name, `${name}_FILE`]));

/** Returns the whole environment, for package clients: it configures their proxies, mirrors and certificates. */
export const clientEnv = () => ({ ...process.env });

/** Folder of the programs fetched for this project; shared by all checkouts of a user. */
export const cacheFolder = () =>
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'utility-tools-api');
