import { type Host, readHostname } from './hostname.ts';

/** What a caller wrote where the address of something on the web was asked for. */
export type WebUrl =
  | { kind: 'url'; url: URL; host: Exclude<Host, { kind: 'invalid' }> }
  | { kind: 'invalid'; message: string };

const invalid = (message: string): WebUrl => ({ kind: 'invalid', message });

/**
 * Whether a URL has userinfo, also an empty one (`http://@host/`), of which the parser keeps no trace: with a letter before
 * each `@` it is not empty. Nothing else of a URL depends on that letter.
 */
function holdsUserinfo(text: string, base: string | undefined): boolean {
  const url = URL.parse(text.replaceAll('@', 'x@'), base);
  return url !== null && url.username + url.password !== '';
}

/** Reads an absolute http or https URL, once, by the URL Standard; whoever uses it goes on with the parsed object. */
export function parseWebUrl(text: string, base?: string): WebUrl {
  const url = URL.parse(text, base);
  if (url === null) return invalid('is not a URL');
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return invalid('is not a URL that starts with http:// or https://');
  if (holdsUserinfo(text, base))
    return invalid('holds a user name or password: leave out what stands before the @');
  const host = readHostname(url.hostname);
  return host.kind === 'invalid' ? invalid(`has a host that ${host.message}`) : { kind: 'url', url, host };
}
