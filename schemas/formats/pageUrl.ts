import type { ErrorCode, Fault } from '../errors.ts';
import { loneSurrogates } from './text.ts';
import { parseWebUrl } from './url.ts';

const URL_BYTES = 8192;

/** Input field of the tools that download a page. */
export const pageUrl = {
  type: 'string',
  minLength: 1,
  maxLength: URL_BYTES,
  description: 'Absolute http or https URL of the page, without user name and password, at most 8 KB.',
} as const;

/** What can go wrong with a page beyond what can with every call. */
export const PAGE_ERRORS = [
  'host_not_found',
  'target_refused',
  'target_failed',
  'target_timeout',
  'source_too_large',
  'unsupported_source',
] as const satisfies readonly ErrorCode[];

/** What the schema of `pageUrl` cannot express. */
export function checkPageUrl(text: string): Fault[] {
  const faults = loneSurrogates('/url', text);
  const parsed = parseWebUrl(text);
  if (parsed.kind === 'invalid') faults.push({ pointer: '/url', message: parsed.message });
  else if (Buffer.byteLength(text) > URL_BYTES)
    faults.push({ pointer: '/url', message: `is longer than ${URL_BYTES} bytes` });
  return faults;
}
