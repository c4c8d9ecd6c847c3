import { isIP } from 'node:net';

// How the text of a variable becomes its value. Each throws when it is not of the form that its message names.

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** `250ms`, `5s`, `10m`, `2h` -> milliseconds. @throws when it is none of these */
export function parseDuration(text: string): number {
  const match = /^(\d+)(ms|s|m|h)$/.exec(text);
  const [, amount, unit] = match ?? [];
  if (amount === undefined || (unit !== 'ms' && unit !== 's' && unit !== 'm' && unit !== 'h'))
    throw new Error('want a number and one of ms, s, m, h, like 5s');
  return Number(amount) * UNITS[unit];
}

export const list = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

export function integer(text: string, min: number, max: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max)
    throw new Error(`want an integer from ${min} to ${max}`);
  return value;
}

export const port = (text: string): number => integer(text, 0, 65_535);

export function boolean(text: string): boolean {
  if (/^(1|true|yes)$/i.test(text)) return true;
  if (/^(0|false|no)$/i.test(text)) return false;
  throw new Error('want true or false');
}

export function url(text: string, protocols: readonly string[]): string {
  if (!URL.canParse(text) || !protocols.includes(new URL(text).protocol))
    throw new Error(
      `want a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
    );
  return text;
}

export function hostPort(text: string): string {
  if (!/^[^\s/?#@\\]+:\d{1,5}$/.test(text) || !URL.canParse(`http://${text}`))
    throw new Error('want host:port, like 10.0.0.5:9090');
  return text;
}

/** A connection string may list several members, which no URL parser takes; the driver reads the rest. */
export function mongodbUri(text: string): string {
  if (!/^mongodb(?:\+srv)?:\/\/[^/?\s]+/.test(text))
    throw new Error('want a URL that starts with mongodb:// or mongodb+srv://');
  return text;
}

export const webUrl = (text: string): string => url(text, ['http:', 'https:']).replace(/\/$/, '');

/** A bare address: what else a mail's header may hold would be read as something else. */
export function mailAddress(text: string): string {
  if (!/^[^\s\p{Cc}<>()[\],;:"\\@]+@[^\s\p{Cc}<>()[\],;:"\\@]+$/u.test(text))
    throw new Error('want an address like tools@example.com');
  return text;
}

/** Calls a second, and how many may come at once; null lifts every limit. */
export interface RateLimit {
  rate: number;
  burst: number;
}

export function rateLimit(text: string): RateLimit | null {
  if (text === 'off') return null;
  const match = /^(\d+)(?::(\d+))?$/.exec(text);
  const rate = Number(match?.[1]);
  const burst = match?.[2] === undefined ? rate * 2 : Number(match[2]);
  if (match === null || rate < 1 || burst < 1) throw new Error('want rate[:burst] (calls a second) or off');
  return { rate, burst };
}

/** One address a resolver listens on. */
export interface DnsServer {
  address: string;
  port: number;
}

export function dnsServer(text: string): DnsServer {
  const match = /^(?:\[([^\]]+)\]|([^:]+)|([0-9a-fA-F:]+))(?::(\d+))?$/.exec(text);
  const bare = isIP(text) === 6 ? text : (match?.[1] ?? match?.[2]);
  if (bare === undefined || isIP(bare) === 0) throw new Error(`want address[:port], not ${text}`);
  return { address: bare, port: isIP(text) === 6 || match?.[4] === undefined ? 53 : port(match[4]) };
}

/** A key of the ring: its id, and 32 bytes. */
export interface MasterKey {
  id: string;
  bytes: Buffer;
}

/** `<id>:<base64 of 32 bytes>,…` @throws when it is not that */
export function parseMasterKeys(text: string): MasterKey[] {
  const keys = list(text).map((item) => {
    const match = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]{43}=)$/.exec(item);
    if (match?.[1] === undefined || match[2] === undefined)
      throw new Error('want <id>:<base64 of 32 bytes>, separated by commas');
    return { id: match[1], bytes: Buffer.from(match[2], 'base64') };
  });
  if (keys.length === 0) throw new Error('want at least one key');
  if (new Set(keys.map((key) => key.id)).size !== keys.length) throw new Error('want each key id once');
  return keys;
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export function oneOf<const T extends string>(allowed: readonly T[]): (text: string) => T {
  return (text) => {
    const found = allowed.find((item) => item === text);
    if (found === undefined) throw new Error(`want one of ${allowed.join(', ')}`);
    return found;
  };
}

export function retrySchedule(text: string): number[] {
  const steps = list(text).map(parseDuration);
  if (steps.length === 0) throw new Error('want at least one step, like 5s,5m,30m');
  return steps;
}
