import type { Fault } from '../errors.ts';
import { isRecord } from '../isRecord.ts';
import { escapePointer } from './pointer.ts';

/** Request headers of an input: an object, or the same object as JSON text. */
export type HeadersInput = string | Readonly<Record<string, unknown>>;

/** The fields to send, in order, without Host; repeated fields are separate entries. Only valid if `faults` is empty. */
export interface RequestHeaders {
  fields: (readonly [name: string, value: string])[];
  faults: Fault[];
}

const MAX_FIELDS = 100;
/** Total bytes of the fields, including four bytes of separators each. */
const MAX_BYTES = 32 * 1024;

/** RFC 9110 section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** RFC 9110 section 5.5. A line break in a value could inject a header or a request. */
const CONTROL = /[^\P{Cc}\t]/u;
/** Connection-specific fields (RFC 9110 section 7.6.1) and the length, which the HTTP client sets. */
const CONNECTION_FIELDS =
  /^(?:connection|content-length|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i;

const isTexts = (values: unknown[]): values is string[] => values.every((value) => typeof value === 'string');

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** True if a Host header equals the host of the URL, with or without the default port. */
function isHostOf(url: URL, value: string): boolean {
  const port = url.port === '' ? { 'http:': '80', 'https:': '443' }[url.protocol] : url.port;
  return [url.host, `${url.hostname}:${port}`].includes(value.trim().toLowerCase());
}

function faultOf(name: string, value: string, url: URL | null): string | null {
  if (!TOKEN.test(name)) return 'is not a valid header name';
  if (CONNECTION_FIELDS.test(name)) return 'is set by the connection and cannot be changed';
  if (CONTROL.test(value)) return 'contains a control character, such as a line break';
  if (name.toLowerCase() === 'host' && url !== null && !isHostOf(url, value))
    return 'is not the host of the URL';
  return null;
}

/** Reports lone surrogates in headers given as JSON text; the validator reports those in objects. */
const surrogateFault = (input: HeadersInput, value: string): string | null =>
  typeof input !== 'string' || value.isWellFormed()
    ? null
    : 'contains a lone surrogate, which UTF-8 cannot encode';

/**
 * Parses and validates the headers of a request.
 *
 * @param url null if the URL is invalid; Host is then not compared
 */
export function readRequestHeaders(input: HeadersInput, url: URL | null): RequestHeaders {
  const headers = typeof input === 'string' ? parse(input) : input;
  if (!isRecord(headers))
    return { fields: [], faults: [{ pointer: '/headers', message: 'is not a JSON object' }] };
  // A JSON Pointer cannot point into a string.
  const fault = (name: string, message: string): Fault =>
    typeof input === 'string'
      ? { pointer: '/headers', message: `contains ${JSON.stringify(name)}, which ${message}` }
      : { pointer: `/headers/${escapePointer(name)}`, message };

  const fields: (readonly [string, string])[] = [];
  const faults: Fault[] = [];
  for (const [name, given] of Object.entries(headers)) {
    const values = [given].flat();
    if (!isTexts(values)) {
      faults.push(fault(name, 'is neither a string nor an array of strings'));
      continue;
    }
    if (values.length === 0) faults.push(fault(name, 'has no values'));
    const messages = values
      .map((value) => faultOf(name, value, url) ?? surrogateFault(input, value))
      .filter((message) => message !== null);
    faults.push(...[...new Set(messages)].map((message) => fault(name, message)));
    fields.push(...values.map((value) => [name, value] as const));
  }
  const bytes = fields.reduce((sum, [name, value]) => sum + Buffer.byteLength(name + value) + 4, 0);
  if (fields.length > MAX_FIELDS)
    faults.push({ pointer: '/headers', message: `has more than ${MAX_FIELDS} headers` });
  if (bytes > MAX_BYTES) faults.push({ pointer: '/headers', message: `is larger than ${MAX_BYTES} bytes` });
  return { fields: fields.filter(([name]) => name.toLowerCase() !== 'host'), faults };
}
