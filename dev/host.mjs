import { homedir } from 'node:os';
import { join } from 'node:path';

/** What a program needs to know of the machine; everything else of our own environment stays with us. */
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

/** Environment of every process that we start. */
export const machineEnv = () => pick(NAMES);

/** The variables of the service that are set, as text, each with its `_FILE` form. */
export const serviceEnv = (names) => pick(names.flatMap((name) => [name, `${name}_FILE`]));

/** The whole environment, for package clients: their proxies, mirrors and certificates are configured there. */
export const clientEnv = () => ({ ...process.env });

/** Where programs fetched for this project stay, once for a user. */
export const cacheFolder = () =>
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'utility-tools-api');
