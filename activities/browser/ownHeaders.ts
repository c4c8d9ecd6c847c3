import type { HTTPRequest } from 'puppeteer';

/** Headers and cookies that the caller supplies. They are added only to requests to the page's own origin. */
interface OwnHeaders {
  headers: Readonly<Record<string, string>>;
  cookies: readonly { name: string; value: string }[];
}

/**
 * Returns the headers to send with a request: with the caller's headers and cookies if the request goes to `origin`,
 * and without them if it goes elsewhere. They must be removed explicitly, because Chromium repeats the headers of the
 * original request after a redirect.
 */
export function withOwnHeaders(
  request: HTTPRequest,
  origin: string,
  { headers, cookies }: OwnHeaders,
): Record<string, string> {
  const added = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  if (cookies.length > 0) added.cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  if (URL.parse(request.url())?.origin === origin) return { ...request.headers(), ...added };
  return Object.fromEntries(
    Object.entries(request.headers()).filter(([name, value]) => added[name.toLowerCase()] !== value),
  );
}
