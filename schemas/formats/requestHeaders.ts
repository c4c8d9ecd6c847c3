import type { Fault } from '../errors.ts';
import { isRecord } from '../isRecord.ts';
import { escapePointer } from './pointer.ts';

/** Header fields of a request as a caller gives them: an object, or the same object as JSON text. */
export type HeadersInput = string | Readonly<Record<string, unknown>>;

/** The fields to send, in order, repeated ones apart, without Host; or what is wrong with them. */
export interface RequestHeaders {
  fields: (readonly [name: string, value: string])[];
  faults: Fault[];
}

const MAX_FIELDS = 100;
/** Names, values, and the four bytes between and after them. */
const MAX_BYTES = 32 * 1024;

/** RFC 9110 section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** RFC 9110 section 5.5; a line break in a value would begin a header, or a request, of the caller's own. */
const CONTROL = /[^\P{Cc}\t]/u;
/** What is said by the connection, which is not the caller's: RFC 9110 section 7.6.1 and its own length. */
const OURS = /^(?:connection|content-length|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i;

const isTexts = (values: unknown[]): values is string[] => values.every((value) => typeof value === 'string');

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** True where a Host header says what the URL says, whether or not it spells out the scheme's own port. */
function isHostOf(url: URL, value: string): boolean {
  const port = url.port === '' ? { 'http:': '80', 'https:': '443' }[url.protocol] : url.port;
  return [url.host, `${url.hostname}:${port}`].includes(value.trim().toLowerCase());
}

function faultOf(name: string, value: string, url: URL | null): string | null {
  if (!TOKEN.test(name)) return 'is not the name of a header';
  if (OURS.test(name)) return 'belongs to the connection and cannot be set';
  if (CONTROL.test(value)) return 'holds a control character, such as a line break';
  if (name.toLowerCase() === 'host' && url !== null && !isHostOf(url, value))
    return 'is not the host of the URL';
  return null;
}

/** Half a surrogate pair that is spelt within the text; in an object it is a fault as it is everywhere. */
const surrogateFault = (input: HeadersInput, value: string): string | null =>
  typeof input !== 'string' || value.isWellFormed()
    ? null
    : 'contains a lone surrogate, which UTF-8 cannot encode';

/**
 * Reads and checks the headers of a request.
 *
 * @param url null where it is at fault itself, so that no Host is compared with it
 */
export function readRequestHeaders(input: HeadersInput, url: URL | null): RequestHeaders {
  const headers = typeof input === 'string' ? parse(input) : input;
  if (!isRecord(headers))
    return { fields: [], faults: [{ pointer: '/headers', message: 'is not a JSON object' }] };
  // Within a text there is nothing that a pointer could point to.
  const fault = (name: string, message: string): Fault =>
    typeof input === 'string'
      ? { pointer: '/headers', message: `holds ${JSON.stringify(name)}, which ${message}` }
      : { pointer: `/headers/${escapePointer(name)}`, message };

  const fields: (readonly [string, string])[] = [];
  const faults: Fault[] = [];
  for (const [name, given] of Object.entries(headers)) {
    const values = [given].flat();
    if (!isTexts(values)) {
      faults.push(fault(name, 'is neither a string nor an array of strings'));
      continue;
    }
    const messages = values
      .map((value) => faultOf(name, value, url) ?? surrogateFault(input, value))
      .filter((message) => message !== null);
    faults.push(...[...new Set(messages)].map((message) => fault(name, message)));
    fields.push(...values.map((value) => [name, value] as const));
  }
  const bytes = fields.reduce((sum, [name, value]) => sum + Buffer.byteLength(name + value) + 4, 0);
  if (fields.length > MAX_FIELDS)
    faults.push({ pointer: '/headers', message: `holds more than ${MAX_FIELDS} headers` });
  if (bytes > MAX_BYTES) faults.push({ pointer: '/headers', message: `is more than ${MAX_BYTES} bytes` });
  return { fields: fields.filter(([name]) => name.toLowerCase() !== 'host'), faults };
}
