import { invalidInput, ServiceError } from '../schemas/errors.ts';
import { isInternalName, parseHost } from '../schemas/formats/hostname.ts';
import { parseWebUrl, type WebUrl } from '../schemas/formats/url.ts';
import type { Policy, ValidHost } from './policy.ts';
import { BAD_PORTS } from './ports.ts';

/** What kind of target a tool takes, and the JSON Pointer of the input field that names it. */
export type TargetKind = { pointer: string } & (
  | /** An absolute http or https URL, on a port that browsers would ask too. */
  { kind: 'url' } /** A bare host, for a protocol of the tool's own at that port. */
  | { kind: 'host'; port: number } /** The same, or a URL of which the host alone counts. */
  | { kind: 'hostOrUrl'; port: number }
);

/** The parts of a URL that a request is made of. */
export interface WebParts {
  /** Without the fragment. */
  href: string;
  origin: string;
  /** Value of the Host header. */
  host: string;
  /** Path with query. */
  path: string;
  secure: boolean;
}

/**
 * A parsed and checked target. Only this file creates one, and the caller's text is not read again afterwards. The
 * addresses of the host still have to be vetted.
 */
class ParsedTarget {
  /** null for a bare host. */
  readonly url: Readonly<WebParts> | null;
  readonly host: Readonly<ValidHost>;
  readonly port: number;
  readonly #parsed: URL | null;

  /** @throws ServiceError target_refused for a name that has a meaning only inside a private network */
  constructor(host: ValidHost, port: number, url: URL | null, policy: Policy) {
    if (host.kind === 'name' && isInternalName(host.name) && !policy.names(host, port))
      throw new ServiceError('target_refused');
    this.host = Object.freeze({ ...host });
    this.port = port;
    this.#parsed = url;
    this.url =
      url &&
      Object.freeze({
        href: url.href.replace(/#.*/, ''),
        origin: url.origin,
        host: url.host,
        path: url.pathname + url.search,
        secure: url.protocol === 'https:',
      });
    Object.freeze(this);
  }

  /** Resolves a Location header against the URL that sent it. */
  read(location: string): WebUrl {
    return parseWebUrl(location, this.#parsed?.href);
  }
}

export type Target = ParsedTarget;

function webTarget({ url, host }: Extract<WebUrl, { kind: 'url' }>, policy: Policy): Target {
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  if (BAD_PORTS.has(port) && !policy.namesPort(host, port)) throw new ServiceError('target_refused');
  return new ParsedTarget(host, port, url, policy);
}

/**
 * Parses a target as the caller wrote it, without network access.
 *
 * @throws ServiceError `invalid_input` when it does not parse, is not http or https, or has userinfo;
 *   `target_refused` for an internal name or a bad port
 */
export function parseTarget(input: string, want: TargetKind, policy: Policy): Target {
  const fault = (message: string): ServiceError => invalidInput([{ pointer: want.pointer, message }]);
  if (want.kind === 'url') {
    const parsed = parseWebUrl(input);
    if (parsed.kind === 'invalid') throw fault(parsed.message);
    return webTarget(parsed, policy);
  }
  if (want.kind === 'hostOrUrl') {
    const parsed = parseWebUrl(input);
    if (parsed.kind === 'url') return new ParsedTarget(parsed.host, want.port, null, policy);
    if (input.includes('//')) throw fault(parsed.message);
  }
  const host = parseHost(input);
  if (host.kind === 'invalid') throw fault(host.message);
  return new ParsedTarget(host, want.port, null, policy);
}

/** Parses the target of a redirect. @throws ServiceError `target_refused` for any fault */
export function redirectTarget(from: Target, location: string, policy: Policy): Target {
  const parsed = from.read(location);
  if (parsed.kind === 'invalid')
    throw new ServiceError('target_refused', { cause: new Error(`the redirect ${parsed.message}`) });
  return webTarget(parsed, policy);
}
