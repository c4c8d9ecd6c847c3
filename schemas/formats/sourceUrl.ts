import type { ErrorCode, Fault } from '../errors.ts';
import { parseWebUrl } from './url.ts';

const URL_BYTES = 8192;

/**
 * Input field for the URL of a page or file to download. @param source what the URL identifies, with its article,
 * such as "the page"
 */
export const sourceUrl = (source: string) =>
  ({
    type: 'string',
    minLength: 1,
    maxLength: URL_BYTES,
    description: `Absolute http or https URL of ${source}. At most 8 KB, without user name and password.`,
  }) as const;

/** Checks of a `sourceUrl` field that JSON Schema cannot express. @param pointer JSON Pointer of the field */
export function checkSourceUrl(pointer: string, text: string): Fault[] {
  const faults: Fault[] = [];
  const parsed = parseWebUrl(text);
  if (parsed.kind === 'invalid') faults.push({ pointer, message: parsed.message });
  else if (Buffer.byteLength(text) > URL_BYTES)
    faults.push({ pointer, message: `is longer than ${URL_BYTES} bytes` });
  return faults;
}

/** Error codes of tools that download a page, in addition to those of every call. */
export const PAGE_ERRORS = [
  'host_not_found',
  'target_refused',
  'target_failed',
  'target_timeout',
  'source_too_large',
  'unsupported_source',
] as const satisfies readonly ErrorCode[];

/** Error codes of tools that read a file, in addition to those of every call. `not_found`: the uploaded file does not exist.
 * `limit_reached`: the file that is sent with the call has no room. */
export const FILE_ERRORS = [
  ...PAGE_ERRORS,
  'corrupt_source',
  'not_found',
  'limit_reached',
] as const satisfies readonly ErrorCode[];
