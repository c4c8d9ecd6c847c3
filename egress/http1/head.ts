import { isUtf8 } from 'node:buffer';
import type { ResponseWarning } from '../../schemas/formats/responseWarnings.ts';
import { targetFailed } from '../failure.ts';
import { HEADER_BYTES } from '../limits.ts';
import type { Reader } from './reader.ts';

export type Header = readonly [name: string, value: string];

/** The status line and the header section of a response. */
export interface Head {
  status: number;
  statusText: string;
  /** In the order and the case in which they were sent. */
  headers: Header[];
}

/** Called for each deviation of a response from the HTTP standard. */
export type Warn = (warning: ResponseWarning) => void;

const PROTOCOL = 'HTTP/';
/** A status line (RFC 9112 section 4). Like curl, it allows other versions, extra spaces and a missing reason phrase. */
const STATUS_LINE = /^HTTP\/\d(?:\.\d)? +(\d{3})(?: +(.*))?$/is;
const EXACT_STATUS_LINE = /^HTTP\/1\.[01] \d{3}(?: |$)/;
/** A valid header name (`token` in RFC 9110 section 5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const FOLD = /^[\t ]/;
/** ASCII control characters, except tab, which is valid, and CR and NUL, which have warnings of their own. */
const CONTROL = /[^\P{Cc}\t\r\0\x80-\x9f]/u;

/** Removes spaces, tabs and CRs from both ends. A regular expression for the trailing ones would take quadratic time. */
function strip(text: string): string {
  const isGap = (at: number): boolean => '\t\r '.includes(text.charAt(at));
  let [start, end] = [0, text.length];
  while (start < end && isGap(start)) start += 1;
  while (end > start && isGap(end - 1)) end -= 1;
  return text.slice(start, end);
}

function checkStart(start: Buffer): void {
  const text = start.subarray(0, PROTOCOL.length).toString('latin1').toUpperCase();
  if (text.trim() !== '' && !PROTOCOL.startsWith(text)) throw targetFailed('protocol');
}

/** Reads a line without its line ending, decoded as Latin-1, which preserves every byte. */
async function readLine(reader: Reader, max: number, warn: Warn, first: boolean): Promise<string> {
  const text = (await reader.line(max, first ? checkStart : undefined)).toString('latin1');
  if (!text.endsWith('\r')) {
    warn('bare_lf');
    return text;
  }
  return text.slice(0, -1);
}

function checkValue(value: string, warn: Warn): void {
  if (value.includes('\r')) warn('bare_cr');
  if (value.includes('\0')) warn('nul_in_header');
  if (CONTROL.test(value)) warn('control_character');
}

const decodeValue = (latin1: string): string => {
  const bytes = Buffer.from(latin1, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : latin1;
};

/** Parses header lines as curl does, and ignores lines that are not headers. */
function readFields(lines: readonly string[], warn: Warn): Header[] {
  const fields: [string, string][] = [];
  for (const line of lines) {
    checkValue(line, warn);
    const last = fields.at(-1);
    const colon = line.indexOf(':');
    if (FOLD.test(line) && last !== undefined) {
      warn('folded_header');
      // A line fold becomes a space (RFC 9112 section 5.2).
      last[1] = `${last[1]} ${strip(line)}`.trimEnd();
    } else if (FOLD.test(line) || colon === -1) warn('ignored_line');
    else {
      const name = strip(line.slice(0, colon));
      if (name.length < colon) warn('space_before_colon');
      if (!TOKEN.test(name)) warn('invalid_header_name');
      fields.push([name, strip(line.slice(colon + 1))]);
    }
  }
  return fields.map(([name, value]) => [name, decodeValue(value)]);
}

/**
 * Reads the lines before the next empty line.
 *
 * @throws ServiceError `target_failed` when the lines exceed 64 KiB in total or the connection ends first
 */
async function readLines(reader: Reader, warn: Warn): Promise<string[]> {
  const lines: string[] = [];
  let left = HEADER_BYTES;
  for (;;) {
    const line = await readLine(reader, left, warn, false);
    if (line === '') return lines;
    left -= line.length;
    lines.push(line);
  }
}

/**
 * Reads the trailer section of a chunked body. Only its line ends are checked: clients that ignore trailers, as most do, cannot
 * misread them.
 *
 * @throws ServiceError as `readHead`
 */
export const readTrailers = async (reader: Reader, warn: Warn): Promise<Header[]> =>
  readFields(await readLines(reader, warn), () => undefined);

/**
 * Reads the status line and the headers of a response. Like curl, it accepts deviations from the standard that do not change
 * the meaning of the response; it reports them as warnings.
 *
 * @throws ServiceError `target_failed` for a status below 100, a response that is not HTTP, or headers above 64 KiB
 */
export async function readHead(reader: Reader, warn: Warn): Promise<Head> {
  let statusLine = '';
  // RFC 9112 section 2.2 lets servers ignore empty lines before a request; some servers send them before a response.
  while (statusLine === '') statusLine = await readLine(reader, HEADER_BYTES, warn, true);
  const [, code = '', statusText = ''] = STATUS_LINE.exec(statusLine) ?? [];
  const status = Number(code);
  if (status < 100) throw targetFailed('protocol');
  if (!EXACT_STATUS_LINE.test(statusLine)) warn('odd_status_line');
  return { status, statusText, headers: readFields(await readLines(reader, warn), warn) };
}
