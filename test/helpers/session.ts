import { randomUUID } from 'node:crypto';

export interface Credentials {
  email: string;
  password: string;
}

/** Returns a unique email address and a password. */
export const freshCredentials = (): Credentials => ({
  email: `${randomUUID()}@example.com`,
  password: randomUUID(),
});

/**
 * Sends a POST request with a JSON body to better-auth. Without headers it has no `Origin`, like a request that no web
 * page sends.
 */
export const postAuth = (
  baseUrl: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(`${baseUrl}/api/auth/${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

/**
 * Returns the Cookie header that a browser sends after this response. @throws when the response sets no session cookie
 */
export function cookieOf(response: Response): string {
  const cookies = response.headers.getSetCookie().map((cookie) => cookie.split(';')[0] ?? '');
  if (!cookies.some((cookie) => cookie.includes('session_token=')))
    throw new Error(`no session: ${response.status}`);
  return cookies.join('; ');
}

/** Signs a new user up. Returns the Cookie header of the session. */
export const signUp = async (baseUrl: string, credentials: Credentials): Promise<string> =>
  cookieOf(await postAuth(baseUrl, 'sign-up/email', { name: 'Test', ...credentials }));

/** Signs a user in. Returns the Cookie header of the session. */
export const signIn = async (baseUrl: string, credentials: Credentials): Promise<string> =>
  cookieOf(await postAuth(baseUrl, 'sign-in/email', credentials));
