import { readCredentials } from './credentials.ts';
import { UsageError } from './exit.ts';
import type { Surroundings } from './surroundings.ts';

/** A key, and the service that it is sent to. */
export interface Access {
  apiKey: string;
  baseUrl: string | undefined;
}

/** The variable with the key of each scope. */
export const KEY_VARIABLES = {
  tools: 'UTILITY_TOOLS_API_KEY',
  account: 'UTILITY_TOOLS_ACCOUNT_KEY',
} as const;
export type KeyScope = keyof typeof KEY_VARIABLES;

/** The field of the stored credentials with the key of each scope. */
export const STORED_KEYS = { tools: 'apiKey', account: 'accountKey' } as const;

const HOW: Readonly<Record<KeyScope, string>> = { tools: 'login', account: 'login --account' };

/** The key and URL: those of the command line and environment, or else those that `login` has stored. @throws UsageError */
export async function accessOf(
  env: Surroundings['env'],
  chosenUrl: string | undefined,
  scope: KeyScope = 'tools',
): Promise<Access> {
  const baseUrl = chosenUrl ?? env.UTILITY_TOOLS_URL;
  const variable = KEY_VARIABLES[scope];
  const key = env[variable];
  if (key !== undefined && key.trim() !== '') return { apiKey: key, baseUrl };
  const stored = await readCredentials(env);
  const storedKey = stored?.[STORED_KEYS[scope]];
  // A key is sent only to the service that it is for.
  if (stored && storedKey && (baseUrl === undefined || baseUrl.replace(/\/+$/, '') === stored.baseUrl))
    return { apiKey: storedKey, baseUrl: stored.baseUrl };
  throw new UsageError(
    `${variable} is not set, and you are not signed in to this service. Run "utility-tools ${HOW[scope]}", or create a ` +
      `key of scope "${scope}" in the dashboard of the service and set the variable to it.`,
  );
}
