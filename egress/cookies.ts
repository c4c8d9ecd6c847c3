import { isIP } from 'node:net';
import type { Header } from './http1/head.ts';
import type { Target } from './target.ts';

interface Cookie {
  name: string;
  value: string;
  /** Host that set it, or the value of `Domain`. */
  domain: string;
  /** Whether it is sent only to the host that set it. */
  hostOnly: boolean;
  path: string;
  secure: boolean;
}

/** The cookies of one chain of redirects. */
export interface CookieJar {
  /** Stores the cookies that a response from this target sets. */
  store(headers: readonly Header[], from: Target): void;
  /** Value of the Cookie header of a request to this target; null without cookies. */
  header(to: Target): string | null;
}

/** Maximum length of name and value of a cookie, and maximum number of cookies, as in browsers (RFC 6265bis section 6.1). */
const COOKIE_LENGTH = 4096;
const COOKIES = 50;
const CONTROL = /[^\P{Cc}\t]/u;
/** A valid date of a cookie contains a time and a month (RFC 6265 section 5.1.1). `Date.parse` also reads `0` and `-1`, as years. */
const TIME_OF_DAY = /\d{1,2}:\d{1,2}:\d{1,2}/;
const MONTH = /jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec/i;

const hostOf = ({ host }: Target): string => (host.kind === 'name' ? host.name : host.address);

/** RFC 6265 section 5.1.3 */
const matchesDomain = (host: string, domain: string): boolean =>
  host === domain || (host.endsWith(`.${domain}`) && isIP(host) === 0);

/** RFC 6265 section 5.1.4 */
const matchesPath = (path: string, prefix: string): boolean =>
  path === prefix ||
  (path.startsWith(prefix) && (prefix.endsWith('/') || path.charAt(prefix.length) === '/'));

const pathOf = ({ url }: Target): string => (url?.path ?? '/').replace(/\?.*$/s, '');
const defaultPath = (path: string): string => path.replace(/\/[^/]*$/, '') || '/';

function readAttributes(parts: readonly string[]): Map<string, string> {
  const attributes = new Map<string, string>();
  for (const part of parts) {
    const [name = '', ...value] = part.split('=');
    attributes.set(name.trim().toLowerCase(), value.join('=').trim());
  }
  return attributes;
}

/** Whether `Max-Age`, or else `Expires`, says that the cookie is to be deleted. */
function isExpired(attributes: ReadonlyMap<string, string>): boolean {
  const age = attributes.get('max-age') ?? '';
  if (/^-?\d+$/.test(age)) return Number(age) <= 0;
  const expires = attributes.get('expires') ?? '';
  return TIME_OF_DAY.test(expires) && MONTH.test(expires) && Date.parse(expires) <= Date.now();
}

/** Reads a Set-Cookie header (RFC 6265bis section 5.6); null for a cookie that browsers reject. */
function readCookie(field: string, from: Target): { cookie: Cookie; expired: boolean } | null {
  const [pair = '', ...rest] = field.split(';');
  const at = pair.indexOf('=');
  const name = at === -1 ? '' : pair.slice(0, at).trim();
  const value = pair.slice(at + 1).trim();
  if ((name === '' && value === '') || name.length + value.length > COOKIE_LENGTH || CONTROL.test(field))
    return null;
  const attributes = readAttributes(rest);
  const host = hostOf(from);
  const given = attributes.get('domain')?.toLowerCase().replace(/^\./, '') ?? '';
  // Browsers also reject public suffixes. Within one chain of redirects no cookie of a user can be set or read by one.
  if (given !== '' && (!matchesDomain(host, given) || (given !== host && !given.includes('.')))) return null;
  const path = attributes.get('path') ?? '';
  const secure = attributes.has('secure');
  const cookie: Cookie = {
    name,
    value,
    domain: given || host,
    hostOnly: given === '',
    path: path.startsWith('/') ? path : defaultPath(pathOf(from)),
    secure,
  };
  if (secure && from.url?.secure !== true) return null;
  if (/^__(?:host|secure)-/i.test(name) && !secure) return null;
  if (/^__host-/i.test(name) && (!cookie.hostOnly || path !== '/')) return null;
  return { cookie, expired: isExpired(attributes) };
}

/** Creates an empty jar. */
export function createCookieJar(): CookieJar {
  let cookies: Cookie[] = [];
  const isSame = (one: Cookie, other: Cookie): boolean =>
    one.name === other.name && one.domain === other.domain && one.path === other.path;

  return {
    store(headers, from) {
      for (const [header, field] of headers) {
        if (header.toLowerCase() !== 'set-cookie') continue;
        const read = readCookie(field, from);
        if (read === null) continue;
        // A cookie that replaces another one takes its place in the order (RFC 6265 section 5.3).
        const known = cookies.some((cookie) => isSame(cookie, read.cookie));
        if (read.expired) cookies = cookies.filter((cookie) => !isSame(cookie, read.cookie));
        else if (known)
          cookies = cookies.map((cookie) => (isSame(cookie, read.cookie) ? read.cookie : cookie));
        else cookies = [...cookies, read.cookie].slice(-COOKIES);
      }
    },
    header(to) {
      const host = hostOf(to);
      const sent = cookies
        .filter(
          ({ domain, hostOnly, path, secure }) =>
            (hostOnly ? host === domain : matchesDomain(host, domain)) &&
            matchesPath(pathOf(to), path) &&
            (!secure || to.url?.secure === true),
        )
        // Longer paths first; the order of creation decides otherwise (RFC 6265 section 5.4).
        .sort((one, other) => other.path.length - one.path.length)
        .map(({ name, value }) => (name === '' ? value : `${name}=${value}`));
      return sent.length === 0 ? null : sent.join('; ');
    },
  };
}
