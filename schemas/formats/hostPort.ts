import { type Host, parseHost } from './hostname.ts';

type HostPort =
  | { kind: 'host'; host: Exclude<Host, { kind: 'invalid' }>; text: string; port: number }
  | { kind: 'invalid'; message: string };

/**
 * Parses a bare host, `host:port` or `[IPv6 address]:port`. `text` of the result is the host as written, which
 * `parseTarget` takes.
 *
 * @param port port to use if the input has none
 */
export function parseHostPort(input: string, port: number): HostPort {
  const [, before, digits] = /^(\[[^\]]*\]|[^:]+):(\d{1,5})$/.exec(input) ?? [];
  const text = before ?? input;
  const number = digits === undefined ? port : Number(digits);
  const host = parseHost(text);
  if (host.kind === 'invalid') return host;
  if (number < 1 || number > 65_535)
    return { kind: 'invalid', message: 'has a port that is not from 1 to 65535' };
  return { kind: 'host', host, text, port: number };
}
