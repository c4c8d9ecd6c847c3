import { type Host, readHostname } from './hostname.ts';

/** An http or https URL from a caller's input, parsed. */
export type WebUrl =
  | { kind: 'url'; url: URL; host: Exclude<Host, { kind: 'invalid' }> }
  | { kind: 'invalid'; message: string };

const invalid = (message: string): WebUrl => ({ kind: 'invalid', message });

/**
 * Whether a URL has userinfo, even if it is empty (`http://@host/`); the URL parser discards empty userinfo. A letter
 * that is inserted before each `@` makes empty userinfo non-empty. It may also change other parts of the URL, which
 * does not matter here.
 */
function hasUserinfo(text: string, base: string | undefined): boolean {
  const url = URL.parse(text.replaceAll('@', 'x@'), base);
  return url !== null && url.username + url.password !== '';
}

/**
 * Parses an absolute http or https URL by the URL Standard. Callers must connect to the returned URL and not parse
 * the text again.
 */
export function parseWebUrl(text: string, base?: string): WebUrl {
  const url = URL.parse(text, base);
  if (url === null) return invalid('is not a URL');
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return invalid('is not a URL that starts with http:// or https://');
  if (hasUserinfo(text, base))
    return invalid('contains a user name or password: remove the part before the @');
  const host = readHostname(url.hostname);
  return host.kind === 'invalid' ? invalid(`has a host that ${host.message}`) : { kind: 'url', url, host };
}

/** Whether the host of a URL is exactly `localhost`, ignoring case. @throws TypeError if the URL is invalid */
export const isLocalhost = (url: string): boolean => new URL(url).hostname === 'localhost';
