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

/** Receives deviations from the standard. */
export type Warn = (warning: ResponseWarning) => void;

const PROTOCOL = 'HTTP/';
/** RFC 9112 section 4, with the liberties that curl takes: other versions, more spaces, no reason. */
const STATUS_LINE = /^HTTP\/\d(?:\.\d)? +(\d{3})(?: +(.*))?$/is;
const EXACT_STATUS_LINE = /^HTTP\/1\.[01] \d{3}(?: |$)/;
/** RFC 9110 section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const FOLD = /^[\t ]/;
/** Control characters that have no warning of their own. */
const CONTROL = /[^\P{Cc}\t\r\0\x80-\x9f]/u;

/** Removes white space and CR from both ends. A regular expression for the end would take quadratic time. */
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

/** Latin-1, so that it still holds the bytes; without its line end. */
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

/** Reads header lines as curl shows them; lines that are none are left out. */
function readFields(lines: readonly string[], warn: Warn): Header[] {
  const fields: [string, string][] = [];
  for (const line of lines) {
    checkValue(line, warn);
    const last = fields.at(-1);
    const colon = line.indexOf(':');
    if (FOLD.test(line) && last !== undefined) {
      warn('folded_header');
      // RFC 9112 section 5.2: a fold becomes a space.
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
 * Reads lines up to an empty one, of at most 64 KiB together.
 *
 * @throws ServiceError `target_failed`
 */
export async function readLines(reader: Reader, warn: Warn): Promise<string[]> {
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
 * Reads the head of a response. Deviations that do not change what the response means are warnings, as for curl.
 *
 * @throws ServiceError `target_failed` for a status below 100, another protocol, or more than 64 KiB
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
