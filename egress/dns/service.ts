import { SocketAddress } from 'node:net';
import { readName } from './name.ts';

/** The data of an SVCB or HTTPS record (RFC 9460). */
export interface ServiceData {
  priority: number;
  target: string;
  /** The values of each parameter as text, by the name of its key. */
  params: Record<string, string[]>;
}

/** Names of the parameters (IANA, "Service Parameter Keys"); others are `key` and their number. */
const KEYS = [
  ...['mandatory', 'alpn', 'no-default-alpn', 'port', 'ipv4hint', 'ech', 'ipv6hint', 'dohpath', 'ohttp'],
  ...['tls-supported-groups', 'docpath'],
];
const keyName = (code: number): string => KEYS[code] ?? `key${code}`;

/** Text of an IPv6 address. */
export function ipv6Text(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16));
  return new SocketAddress({ family: 'ipv6', address: groups.join(':') }).address;
}

/** Splits a value into pieces of one size, at least one. @throws Error when it does not have that form */
function pieces(value: Buffer, size: number): Buffer[] {
  if (value.length === 0 || value.length % size !== 0) throw new Error('parameter of the wrong length');
  return Array.from({ length: value.length / size }, (_, index) =>
    value.subarray(index * size, (index + 1) * size),
  );
}

/** Splits a value into texts, each with its length in one byte before it. */
function texts(value: Buffer): string[] {
  const found: string[] = [];
  for (let at = 0; at < value.length; ) {
    const end = at + 1 + value.readUInt8(at);
    if (end > value.length || end === at + 1) throw new Error('parameter with a text of the wrong length');
    found.push(value.toString('latin1', at + 1, end));
    at = end;
  }
  if (found.length === 0) throw new Error('parameter without a text');
  return found;
}

const numbers = (value: Buffer): number[] => pieces(value, 2).map((piece) => piece.readUInt16BE(0));

function one<T>(values: readonly T[]): T[] {
  if (values.length !== 1) throw new Error('parameter with more than one value');
  return [...values];
}

function flag(value: Buffer): string[] {
  if (value.length > 0) throw new Error('parameter that takes no value');
  return [];
}

const READERS: Readonly<Record<string, (value: Buffer) => string[]>> = {
  mandatory: (value) => numbers(value).map(keyName),
  alpn: texts,
  'no-default-alpn': flag,
  port: (value) => one(numbers(value)).map(String),
  ipv4hint: (value) => pieces(value, 4).map((piece) => piece.join('.')),
  ech: (value) => [value.toString('base64')],
  ipv6hint: (value) => pieces(value, 16).map(ipv6Text),
  dohpath: (value) => [value.toString('utf8')],
  ohttp: flag,
  'tls-supported-groups': (value) => numbers(value).map(String),
  docpath: texts,
};

/**
 * Parses the data of an SVCB or HTTPS record between `start` and `end` of the message.
 *
 * @throws Error when it is malformed: in the order of its keys too, as RFC 9460 section 2.2 requires
 */
export function readService(message: Buffer, start: number, end: number): ServiceData {
  const priority = message.readUInt16BE(start);
  const target = readName(message, start + 2);
  const params: Record<string, string[]> = {};
  let last = -1;
  let at = target.end;
  while (at < end) {
    const code = message.readUInt16BE(at);
    const valueEnd = at + 4 + message.readUInt16BE(at + 2);
    if (code <= last || valueEnd > end) throw new Error('malformed service parameters');
    const value = message.subarray(at + 4, valueEnd);
    const name = keyName(code);
    const read = READERS[name];
    params[name] = read === undefined ? [value.toString('base64')] : read(value);
    last = code;
    at = valueEnd;
  }
  if (at !== end) throw new Error('service record of the wrong length');
  return { priority, target: target.name, params };
}
