import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { parseVatId } from './formats/vatId.ts';

// Parsers of the values of environment variables. Each throws an Error whose message completes "<NAME>: …".

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Parses a duration, such as `250ms`, `5s`, `10m` or `2h`, to milliseconds. */
export function parseDuration(text: string): number {
  const match = /^(\d+)(ms|s|m|h)$/.exec(text);
  const [, amount, unit] = match ?? [];
  if (amount === undefined || (unit !== 'ms' && unit !== 's' && unit !== 'm' && unit !== 'h'))
    throw new Error('must be a whole number and a unit (ms, s, m, h), such as 5s');
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
    throw new Error(`must be an integer from ${min} to ${max}`);
  return value;
}

/** Parses a number from 0 to 1. */
export function ratio(text: string): number {
  const value = Number(text);
  if (!(value >= 0 && value <= 1)) throw new Error('must be a number from 0 to 1');
  return value;
}

/** Parses a rate in percent, from 0 to below 100 and with at most two decimals, to hundredths of a percent. */
export function percentage(text: string): number {
  const [, whole, decimals = ''] = /^(\d{1,2})(?:\.(\d{1,2}))?$/.exec(text) ?? [];
  if (whole === undefined) throw new Error('must be a percentage from 0 to 99.99, such as 20 or 8.1');
  return Number(whole) * 100 + Number(decimals.padEnd(2, '0'));
}

/** Parses `name=value,…` with percent-encoded values, the format of OTEL_EXPORTER_OTLP_HEADERS. */
export const headerList = (text: string): [name: string, value: string][] =>
  list(text).map((item) => {
    const [, name = '', value = ''] = /^([\w-]+)=(.+)$/.exec(item) ?? [];
    if (name === '') throw new Error('must be name=value, separated by commas');
    return [name, decodeURIComponent(value)];
  });

export const port = (text: string): number => integer(text, 0, 65_535);

export function boolean(text: string): boolean {
  if (/^(1|true|yes)$/i.test(text)) return true;
  if (/^(0|false|no)$/i.test(text)) return false;
  throw new Error('must be true or false');
}

export function url(text: string, protocols: readonly string[]): string {
  if (!URL.canParse(text) || !protocols.includes(new URL(text).protocol))
    throw new Error(
      `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
    );
  return text;
}

export function hostPort(text: string): string {
  if (!/^[^\s/?#@\\]+:\d{1,5}$/.test(text) || !URL.canParse(`http://${text}`))
    throw new Error('must be host:port, such as 10.0.0.5:9090');
  return text;
}

/**
 * Checks only the scheme of a MongoDB connection string: it may list several hosts, which URL parsers reject. The
 * MongoDB driver parses the rest.
 */
export function mongodbUri(text: string): string {
  if (!/^mongodb(?:\+srv)?:\/\/[^/?\s]+/.test(text))
    throw new Error('must be a URL that starts with mongodb:// or mongodb+srv://');
  return text;
}

/** Parses the build id of a worker deployment version. */
export function buildId(text: string): string {
  if (!/^[\w.-]{1,128}$/.test(text))
    throw new Error('must be at most 128 letters, digits, dots, hyphens and underscores');
  return text;
}

export const webUrl = (text: string): string => url(text, ['http:', 'https:']).replace(/\/$/, '');

/** Parses `name=url,…`. */
export const urlsByName = (text: string): ReadonlyMap<string, string> =>
  new Map(
    list(text).map((item) => {
      const [, name = '', value = ''] = /^([\w-]+)=(.+)$/.exec(item) ?? [];
      if (name === '') throw new Error('must be name=url, separated by commas');
      return [name, webUrl(value)];
    }),
  );

/**
 * Parses an email address without a display name. Characters with a meaning in the syntax of the `From` header are
 * refused.
 */
export function mailAddress(text: string): string {
  if (!/^[^\s\p{Cc}<>()[\],;:"\\@]+@[^\s\p{Cc}<>()[\],;:"\\@]+$/u.test(text))
    throw new Error('must be an email address, such as tools@example.com');
  return text;
}

/** One line of text, such as a name or an address. */
export function line(text: string): string {
  if (text.length > 200 || /\p{Cc}/u.test(text))
    throw new Error('must be one line of at most 200 characters');
  return text;
}

/** Id of a profile in Stripe's network. */
export function networkId(text: string): string {
  if (!/^\w{1,100}$/.test(text))
    throw new Error('must be the id of a profile, such as profile_1MqDcVKA5fEO2tZv');
  return text;
}

/** A VAT id, without spaces. */
export function vatId(text: string): string {
  const parsed = parseVatId(text);
  if (parsed === null)
    throw new Error('must be a VAT id that begins with a country code, such as DE123456789');
  return parsed;
}

/** A text of the operator: Markdown, or the URL of the page that has it. */
export type OperatorText = { markdown: string } | { url: string };

/** Parses an https URL, or the path of a Markdown file, which is read. */
export function operatorText(text: string): OperatorText {
  if (text.startsWith('https://')) return { url: url(text, ['https:']) };
  let markdown: string;
  try {
    markdown = readFileSync(text, 'utf8').trim();
  } catch (error) {
    throw new Error('must be an https URL or the path of a Markdown file that can be read', { cause: error });
  }
  if (markdown === '') throw new Error('must not name an empty file');
  return { markdown };
}

/** A token bucket: tokens added per second, and the size of the bucket. A request takes one token. */
export interface RateLimit {
  rate: number;
  burst: number;
}

/** Parses `rate[:burst]` in requests per second. Returns null for `off`, which disables every limit. */
export function rateLimit(text: string): RateLimit | null {
  if (text === 'off') return null;
  const match = /^(\d+)(?::(\d+))?$/.exec(text);
  const rate = Number(match?.[1]);
  const burst = match?.[2] === undefined ? rate * 2 : Number(match[2]);
  if (match === null || rate < 1 || burst < 1)
    throw new Error('must be rate[:burst] in requests per second, or off');
  return { rate, burst };
}

export interface DnsServer {
  address: string;
  port: number;
}

export function dnsServer(text: string): DnsServer {
  const match = /^(?:\[([^\]]+)\]|([^:]+)|([0-9a-fA-F:]+))(?::(\d+))?$/.exec(text);
  const bare = isIP(text) === 6 ? text : (match?.[1] ?? match?.[2]);
  if (bare === undefined || isIP(bare) === 0) throw new Error(`must be address[:port], not ${text}`);
  return { address: bare, port: isIP(text) === 6 || match?.[4] === undefined ? 53 : port(match[4]) };
}

/** A master key of the keyring; `bytes` has 32 bytes. */
export interface MasterKey {
  id: string;
  bytes: Buffer;
}

/** Parses `<id>:<base64 of 32 bytes>,…`. */
export function parseMasterKeys(text: string): MasterKey[] {
  const keys = list(text).map((item) => {
    const match = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]{43}=)$/.exec(item);
    if (match?.[1] === undefined || match[2] === undefined)
      throw new Error('must be <id>:<base64 of 32 bytes>, separated by commas');
    return { id: match[1], bytes: Buffer.from(match[2], 'base64') };
  });
  if (keys.length === 0) throw new Error('must have at least one key');
  if (new Set(keys.map((key) => key.id)).size !== keys.length) throw new Error('must not repeat a key id');
  return keys;
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export function oneOf<const T extends string>(allowed: readonly T[]): (text: string) => T {
  return (text) => {
    const found = allowed.find((item) => item === text);
    if (found === undefined) throw new Error(`must be one of ${allowed.join(', ')}`);
    return found;
  };
}

export function retrySchedule(text: string): number[] {
  const steps = list(text).map(parseDuration);
  if (steps.length === 0) throw new Error('must have at least one delay, such as 5s,5m,30m');
  return steps;
}
