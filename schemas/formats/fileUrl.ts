import type { ErrorCode, Fault } from '../errors.ts';
import { loneSurrogates } from './text.ts';
import { parseWebUrl } from './url.ts';

const URL_BYTES = 8192;

/** Input field of the tools that download a file. @param what with its article: "a PDF" */
export const fileUrl = (what: string) =>
  ({
    type: 'string',
    minLength: 1,
    maxLength: URL_BYTES,
    description: `Absolute http or https URL of ${what}, without user name and password, at most 8 KB.`,
  }) as const;

/** What can go wrong with a file beyond what can with every call. */
export const FILE_ERRORS = [
  'host_not_found',
  'target_refused',
  'target_failed',
  'target_timeout',
  'source_too_large',
  'unsupported_source',
  'corrupt_source',
] as const satisfies readonly ErrorCode[];

/** What the schema of `fileUrl` cannot express. */
export function checkFileUrl(text: string): Fault[] {
  const faults = loneSurrogates('/fileUrl', text);
  const parsed = parseWebUrl(text);
  if (parsed.kind === 'invalid') faults.push({ pointer: '/fileUrl', message: parsed.message });
  else if (Buffer.byteLength(text) > URL_BYTES)
    faults.push({ pointer: '/fileUrl', message: `is longer than ${URL_BYTES} bytes` });
  return faults;
}
