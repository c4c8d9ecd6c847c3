import type { Fault } from '../errors.ts';
import { isRecord } from '../isRecord.ts';
import { escapePointer } from './pointer.ts';

/** Request headers in the input of a tool: an object, or the same object as JSON text. */
type HeadersInput = string | Readonly<Record<string, unknown>>;

/**
 * The header fields to send, in order and without `Host`; a header with several values has several entries. Valid
 * only if `faults` is empty.
 */
interface RequestHeaders {
  fields: (readonly [name: string, value: string])[];
  faults: Fault[];
}

const MAX_FIELDS = 100;
/** Maximum size of all header fields in bytes, including four bytes for the separators of each. */
const MAX_BYTES = 32 * 1024;

/** Syntax of a header name (RFC 9110 section 5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/**
 * Control characters, which a header value must not contain (RFC 9110 section 5.5). A line break could inject a
 * header or a request.
 */
const CONTROL = /[^\P{Cc}\t]/u;
/** Connection-specific headers (RFC 9110 section 7.6.1), and `Content-Length`, which the HTTP client sets. */
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

/** Whether the value of a `Host` header equals the host of the URL, with or without the default port. */
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

/**
 * Reports a lone surrogate in headers that are given as JSON text. In headers given as an object, the validator has
 * already reported it.
 */
const surrogateFault = (input: HeadersInput, value: string): string | null =>
  typeof input !== 'string' || value.isWellFormed()
    ? null
    : 'contains a lone surrogate, which UTF-8 cannot encode';

/**
 * Parses and validates the headers of a request.
 *
 * @param url URL of the request; null if it is invalid, in which case `Host` is not compared with it
 */
export function readRequestHeaders(input: HeadersInput, url: URL | null): RequestHeaders {
  const headers = typeof input === 'string' ? parse(input) : input;
  if (!isRecord(headers))
    return { fields: [], faults: [{ pointer: '/headers', message: 'is not a JSON object' }] };
  // A JSON Pointer cannot point into a string, so faults in JSON text name the header in the message.
  const fault = (name: string, message: string): Fault =>
    typeof input === 'string'
      ? { pointer: '/headers', message: `contains ${JSON.stringify(name)}, which ${message}` }
      : { pointer: `/headers/${escapePointer(name)}`, message };

  const fields: (readonly [string, string])[] = [];
  const faults: Fault[] = [];
  const entries = Object.entries(headers);
  // Checked first, because JSON text can have thousands of headers, each with a fault.
  const count = entries.reduce((sum, [, given]) => sum + (Array.isArray(given) ? given.length : 1), 0);
  if (count > MAX_FIELDS)
    return { fields, faults: [{ pointer: '/headers', message: `has more than ${MAX_FIELDS} headers` }] };
  for (const [name, given] of entries) {
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
  if (bytes > MAX_BYTES) faults.push({ pointer: '/headers', message: `is larger than ${MAX_BYTES} bytes` });
  return { fields: fields.filter(([name]) => name.toLowerCase() !== 'host'), faults };
}
