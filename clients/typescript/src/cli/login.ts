import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ConnectionError } from '../errors.ts';
import { deleteCredentials, readCredentials, writeCredentials } from './credentials.ts';
import { requestCode, requestKey, revokeKey } from './deviceRequests.ts';
import { UsageError } from './exit.ts';
import type { Surroundings } from './surroundings.ts';

export const DEFAULT_URL = 'http://127.0.0.1:8080';
/** By how much the interval grows when the service asks for it (RFC 8628, section 3.5). */
const SLOWER_MS = 5000;

function readUrl(name: string, args: string[]): string | undefined {
  try {
    return parseArgs({ args, options: { 'base-url': { type: 'string' } } }).values['base-url'];
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('. ')[0] : String(error);
    throw new UsageError(`${reason}. "utility-tools ${name}" supports only --base-url.`);
  }
}

const trimmed = (url: string): string => {
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new UsageError(`${JSON.stringify(url)} is not an http or https URL.`);
  return url.replace(/\/+$/, '');
};

/** Gets an API key that the owner approves in the browser, and stores it. */
export async function login(args: string[], { env, progress, signal }: Surroundings): Promise<void> {
  const baseUrl = trimmed(readUrl('login', args) ?? env.UTILITY_TOOLS_URL ?? DEFAULT_URL);
  const stored = await readCredentials(env);
  if (stored !== null)
    throw new UsageError(`You are signed in to ${stored.baseUrl} already. Run "utility-tools logout" first.`);
  const { deviceCode, userCode, page, expiresInMs, intervalMs } = await requestCode(baseUrl, signal);
  progress(
    `Open this page in a browser, and approve the key if the page shows the code ${userCode}:\n${page}`,
  );
  const endsAt = Date.now() + expiresInMs;
  for (let wait = intervalMs; Date.now() < endsAt; ) {
    await sleep(wait, undefined, { signal });
    const answer = await requestKey(baseUrl, deviceCode, signal);
    if ('key' in answer) {
      const path = await writeCredentials(env, { baseUrl, apiKey: answer.key });
      progress(`Signed in. The key is stored in ${path}; "utility-tools logout" revokes it.`);
      return;
    }
    if (answer.error === 'slow_down') wait += SLOWER_MS;
    else if (answer.error !== 'authorization_pending')
      throw new ConnectionError(
        `The sign-in ended without a key: ${answer.description}. Run "utility-tools login" again.`,
      );
  }
  throw new ConnectionError('The code has expired. Run "utility-tools login" again.');
}

/** Revokes the stored key and deletes it. */
export async function logout(args: string[], { env, progress, signal }: Surroundings): Promise<void> {
  if (args.length > 0) throw new UsageError('"utility-tools logout" supports no options.');
  const stored = await readCredentials(env);
  if (stored === null) throw new UsageError('You are not signed in.');
  await revokeKey(stored.baseUrl, stored.apiKey, signal);
  await deleteCredentials(env);
  progress(`Signed out. The key for ${stored.baseUrl} was revoked and deleted.`);
}
