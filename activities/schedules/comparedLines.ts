import { createHash } from 'node:crypto';
import { isRecord } from '../../schemas/isRecord.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';

type Output = Record<string, unknown>;

/** Fields that differ between two calls although nothing has changed: durations, what is left of a time, and estimates. */
const VOLATILE: ReadonlySet<string> = new Set([
  ...['elapsedMs', 'ms', 'ttl', 'daysRemaining'],
  ...['blockedRequestCount', 'confidence', 'asOfUtc'],
]);

/** The fields that results are about, for tools that return more. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  'dns-lookup': ['found', 'records', 'dnssec'],
  'http-request': ['statusCode', 'body'],
  ping: ['resolvedIp', 'received'],
  'ssl-check': [
    ...['issuer', 'subject', 'validFrom', 'validTo', 'fingerprint256', 'subjectAlternativeNames'],
    ...['renewalDue', 'chainValid', 'chainError', 'hostnameMatches'],
  ],
  'web-scrape': ['statusCode', 'title', 'text', 'selectorMatches'],
  'website-screenshot': ['statusCode', 'pageTitle', 'fileBase64'],
};
/** Fields of which each line stands for itself. */
const TEXTS: ReadonlySet<string> = new Set(['text', 'body', 'selectorMatches']);
/** Size of the file of a result, which the file itself stands for. */
const FILE_SIZE = 'sizeBytes';
/** Tools whose lists have no order. */
const UNORDERED: ReadonlySet<string> = new Set(['dns-lookup']);

/** Number of lines of a text that are compared one by one. Further lines are compared by their digest. */
const MAX_LINES = 5000;

const sha256 = (data: string, encoding?: 'base64'): string =>
  createHash('sha256')
    .update(data, encoding ?? 'utf8')
    .digest('hex');

/** Splits a text into its lines that are not blank, in time that does not depend on the number of further ones. */
function splitLines(text: string): string[] {
  const lines: string[] = [];
  let from = 0;
  for (let line = 0; from < text.length; line++) {
    if (line === MAX_LINES) return [...lines, `further lines: SHA-256 ${sha256(text.slice(from))}`];
    const end = text.indexOf('\n', from);
    const next = text.slice(from, end < 0 ? text.length : end).replace(/\r$/, '');
    if (next.trim() !== '') lines.push(next);
    from = end < 0 ? text.length : end + 1;
  }
  return lines;
}

const withoutVolatile = (_key: string, value: unknown): unknown =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).filter(([name]) => !VOLATILE.has(name))) : value;

/** Returns a field as lines: its path and its value, and one line for each element of a list and each line of a text. */
function linesOf(path: string, value: unknown): string[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value))
    return value.flatMap((item) =>
      linesOf(path, isRecord(item) ? JSON.stringify(item, withoutVolatile) : item),
    );
  if (isRecord(value))
    return Object.keys(value)
      .filter((name) => !VOLATILE.has(name))
      .sort()
      .flatMap((name) => linesOf(`${path}.${name}`, value[name]));
  const lines = splitLines(String(value));
  return TEXTS.has(path) ? lines : lines.map((line) => `${path}: ${line}`);
}

/** The links that are broken, whatever the others do. */
function brokenLinks({ links }: Output): string[] {
  if (!Array.isArray(links)) return [];
  return links
    .filter((link) => isRecord(link) && link.broken === true)
    .map(({ url, reason, statusCode }) => `${url}: ${reason === 'status' ? statusCode : reason}`)
    .sort();
}

/** The field of a result that is a file, in base64; null if there is none. */
function fileField({ raw, optionalFile }: ToolDefinition, output: Output): string | null {
  if (raw !== undefined) return raw.data;
  return optionalFile !== undefined && optionalFile.mimeTypeOf(output) !== null ? optionalFile.data : null;
}

/**
 * Returns what the result of a tool is about, as lines that are equal if nothing has changed.
 *
 * @param digest what stands for the file of the result; default: the SHA-256 of its bytes
 */
export function comparedLines(tool: ToolDefinition, output: Output, digest?: string): string[] {
  if (tool.name === 'broken-links') return brokenLinks(output);
  const file = fileField(tool, output);
  const named = FIELDS[tool.name];
  // Without its text, a page is compared by all else.
  const names = named === undefined || output.text === null ? Object.keys(tool.output.properties) : named;
  const lines = names
    .filter((name) => !VOLATILE.has(name) && !(file !== null && name === FILE_SIZE))
    .flatMap((name) => {
      const value = output[name];
      if (name !== file || typeof value !== 'string') return linesOf(name, value);
      return [`${name}: SHA-256 ${digest ?? sha256(value, 'base64')}`];
    });
  return UNORDERED.has(tool.name) ? lines.sort() : lines;
}
