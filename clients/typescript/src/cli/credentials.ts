import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseJson } from '../response.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** What `login` stores: the service, and a key of each scope for which the user has signed in. */
export interface Credentials {
  baseUrl: string;
  apiKey?: string;
  accountKey?: string;
}

/** Path of the file, in the folder of the user's settings (XDG Base Directory Specification). */
export function credentialsPath(env: Env): string {
  const settings = env.XDG_CONFIG_HOME || env.APPDATA || join(env.HOME || homedir(), '.config');
  return join(settings, 'utility-tools', 'credentials.json');
}

const isCredentials = (value: unknown): value is Credentials =>
  typeof value === 'object' && value !== null && 'baseUrl' in value && typeof value.baseUrl === 'string';

/** Reads the file; null if there is none. */
export async function readCredentials(env: Env): Promise<Credentials | null> {
  const text = await readFile(credentialsPath(env), 'utf8').catch(() => '');
  const value = parseJson(text);
  return isCredentials(value) ? value : null;
}

/** Writes the file, which only this user can read. */
export async function writeCredentials(env: Env, credentials: Credentials): Promise<string> {
  const path = credentialsPath(env);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, '', { mode: 0o600 });
  // The mode above applies only to a new file.
  await chmod(path, 0o600);
  await writeFile(path, `${JSON.stringify(credentials, null, 2)}\n`);
  return path;
}

export const deleteCredentials = (env: Env): Promise<void> => rm(credentialsPath(env), { force: true });
