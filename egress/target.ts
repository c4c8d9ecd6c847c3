import { invalidInput, ServiceError } from '../schemas/errors.ts';
import { isInternalName, parseHost } from '../schemas/formats/hostname.ts';
import { parseWebUrl, type WebUrl } from '../schemas/formats/url.ts';
import type { Policy, ValidHost } from './policy.ts';
import { BAD_PORTS } from './ports.ts';

/** The kind of target that a tool accepts, and the JSON Pointer of the input field that contains the target. */
export type TargetKind = { pointer: string } & (
  | /** An absolute http or https URL, on a port that browsers do not block. */
  { kind: 'url' } /** A host name or IP address, to which the tool connects at this port. */
  | { kind: 'host'; port: number } /** A host as above, or a URL of which only the host is used. */
  | { kind: 'hostOrUrl'; port: number }
);

/** The parts of a URL that an HTTP request needs. */
export interface WebParts {
  /** The URL without its fragment. */
  href: string;
  /** The fragment with its `#`; '' if there is none. */
  fragment: string;
  origin: string;
  /** Value of the Host header. */
  host: string;
  /** Path with query. */
  path: string;
  secure: boolean;
}

/**
 * A parsed target, allowed as far as its text shows. Only this file creates targets, and the text is not parsed again
 * afterwards. The IP addresses of the host must still be vetted (`vet.ts`).
 */
class ParsedTarget {
  /** null when the target is a host without a URL. */
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
        fragment: url.hash,
        origin: url.origin,
        host: url.host,
        path: url.pathname + url.search,
        secure: url.protocol === 'https:',
      });
    Object.freeze(this);
  }

  /** Resolves a Location header against the URL of this target. */
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
 * Parses the text of a target without network access.
 *
 * @throws ServiceError `invalid_input` when the text does not parse, or is a URL that is not http or https or has userinfo;
 *   `target_refused` for an internal host name or a port of `BAD_PORTS`
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

/** Parses the target of a redirect, which keeps the fragment unless it has its own. @throws ServiceError `target_refused` when it is invalid or not allowed */
export function redirectTarget(from: Target, location: string, policy: Policy): Target {
  const parsed = from.read(location);
  if (parsed.kind === 'invalid')
    throw new ServiceError('target_refused', { cause: new Error(`the redirect ${parsed.message}`) });
  if (parsed.url.hash === '') parsed.url.hash = from.url?.fragment ?? '';
  return webTarget(parsed, policy);
}
