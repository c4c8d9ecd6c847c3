import { setTimeout as sleep } from 'node:timers/promises';
import { ConnectionError } from '../errors.ts';
import { deleteCredentials, readCredentials, writeCredentials } from './credentials.ts';
import { requestCode, requestKey, revokeKey } from './deviceRequests.ts';
import { UsageError } from './exit.ts';
import { STORED_KEYS } from './keys.ts';
import { type Subcommand, textOf } from './subcommand.ts';

export const DEFAULT_URL = 'http://127.0.0.1:8080';
/** By how much the interval grows when the service asks for it (RFC 8628, section 3.5). */
const SLOWER_MS = 5000;

const trimmed = (url: string): string => {
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new UsageError(`${JSON.stringify(url)} is not an http or https URL.`);
  return url.replace(/\/+$/, '');
};

/** Gets an API key that the owner approves in the browser, and stores it. */
export const login: Subcommand = {
  name: 'login',
  usage: '[--account] [--base-url URL]',
  about:
    'Get an API key that you approve in the browser, and store it. It calls tools; with --account it reads the account for ' +
    '"balance", "calls", "receipt" and "listen".',
  options: { account: { type: 'boolean' } },
  operands: 0,
  async run(values, _operands, { env, progress, signal }) {
    const baseUrl = trimmed(textOf(values['base-url']) ?? env.UTILITY_TOOLS_URL ?? DEFAULT_URL);
    const scope = values.account === true ? 'account' : 'tools';
    const stored = await readCredentials(env);
    if (stored !== null && (stored.baseUrl !== baseUrl || stored[STORED_KEYS[scope]] !== undefined))
      throw new UsageError(
        `You are signed in to ${stored.baseUrl} already. Run "utility-tools logout" first.`,
      );
    const { deviceCode, userCode, page, expiresInMs, intervalMs } = await requestCode(baseUrl, scope, signal);
    progress(
      `Open this page in a browser, and approve the key if the page shows the code ${userCode}:\n${page}`,
    );
    const endsAt = Date.now() + expiresInMs;
    for (let wait = intervalMs; Date.now() < endsAt; ) {
      await sleep(wait, undefined, { signal });
      const answer = await requestKey(baseUrl, deviceCode, signal);
      if ('key' in answer) {
        const path = await writeCredentials(env, { ...stored, baseUrl, [STORED_KEYS[scope]]: answer.key });
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
  },
};

/** Revokes the stored keys and deletes them. */
export const logout: Subcommand = {
  name: 'logout',
  usage: '',
  about: 'Revoke and delete the stored keys.',
  options: {},
  operands: 0,
  async run(_values, _operands, { env, progress, signal }) {
    const stored = await readCredentials(env);
    if (stored === null) throw new UsageError('You are not signed in.');
    for (const field of Object.values(STORED_KEYS)) {
      const key = stored[field];
      if (key !== undefined) await revokeKey(stored.baseUrl, key, signal);
    }
    await deleteCredentials(env);
    progress(`Signed out. The keys for ${stored.baseUrl} were revoked and deleted.`);
  },
};
