import { failureKind } from '../../egress/failure.ts';
import type { Guard } from '../../egress/guard.ts';
import type { GuardedResponse } from '../../egress/response.ts';
import { type ErrorCode, ServiceError } from '../../schemas/errors.ts';
import type { Offload } from '../decoders/offload.ts';
import { PAGE_BYTES, PAGE_HEADERS } from '../html/download.ts';
import { fragmentOf } from '../html/fragments.ts';
import type { Link } from '../html/links.ts';
import { isHtml } from '../html/sniff.ts';
import type missingFragments from '../jobs/missing-fragments.ts';
import { explain, type LinkReport } from './explain.ts';

type Reason = Exclude<LinkReport['reason'], null>;
type Verdict = Pick<LinkReport, 'statusCode' | 'broken' | 'reason' | 'finalUrl' | 'replacement'>;

interface CheckOptions {
  egress: Guard;
  /** Runs jobs that parse pages in child processes. */
  offload: Offload;
  signal: AbortSignal;
  /** Time by which the response headers must arrive, epoch milliseconds. */
  deadline: number;
}

/** As many as browsers follow (Fetch Standard, HTTP-redirect fetch). */
const REDIRECTS = 20;
/** Redirects after which the address of a link should be changed (RFC 9110, 15.4). */
const PERMANENT: ReadonlySet<number> = new Set([301, 308]);
/**
 * HTTP statuses with which servers reject programs, while people in browsers get the page, or people elsewhere (451) or later
 * (503). Shopify uses 430, LinkedIn 999. ModSecurity sends 406, which no other server has a reason for: all types are accepted.
 */
const BLOCKED: ReadonlySet<number> = new Set([401, 403, 406, 429, 430, 451, 503, 999]);
/**
 * Headers with which bot walls mark the requests that they stopped: of Cloudflare, also for programs that should pay, AWS,
 * DataDome, Sucuri and Vercel. DataDome sends `x-datadome` with the pages of the site, too, also with its 404.
 */
const WALLS = [
  ...['cf-mitigated', 'crawler-price', 'x-amzn-waf-action', 'x-dd-b'],
  ...['x-sucuri-block', 'x-vercel-mitigated'],
];
/** Statuses that say that the same request may succeed later or on another connection (RFC 9110, RFC 8470). */
const PASSING: ReadonlySet<number> = new Set([408, 421, 425]);

/** Reasons by error code. `reasonOf` distinguishes the kinds of `target_failed`. */
const REASONS: Partial<Record<ErrorCode, Reason>> = {
  invalid_input: 'malformed',
  target_refused: 'refused',
  host_not_found: 'dns',
  target_timeout: 'timeout',
};

/** Returns where the permanent redirects at the start of a chain lead; null if there are none. */
function replacementOf(href: string, response: GuardedResponse): string | null {
  const { redirects } = response;
  const permanent = redirects.findIndex(({ status }) => !PERMANENT.has(status));
  const { url, fragment } = redirects[permanent] ?? response;
  return url === href ? null : url + fragment;
}

function verdictOf(href: string, response: GuardedResponse): Verdict {
  const { status: statusCode, url: finalUrl } = response;
  const failed = statusCode >= 400;
  const blocked = failed && (BLOCKED.has(statusCode) || WALLS.some((name) => response.header(name) !== null));
  return {
    statusCode,
    finalUrl,
    broken: failed && !blocked,
    reason: blocked ? 'blocked' : failed ? 'status' : null,
    replacement: failed ? null : replacementOf(href, response),
  };
}

/** Whether a second request may succeed, because servers fail so for a moment. */
export const mayRecover = ({ reason, statusCode }: LinkReport): boolean =>
  reason === 'timeout' ||
  reason === 'reset' ||
  (statusCode !== null && ((statusCode >= 500 && statusCode < 600) || PASSING.has(statusCode)));

/** Returns the reason to report for an error; null when the link did not cause the error. */
function reasonOf(error: unknown): Reason | null {
  if (!(error instanceof ServiceError)) return null;
  if (error.code !== 'target_failed') return REASONS[error.code] ?? null;
  const kind = failureKind(error);
  // Among `target_failed` errors, only DNS failures have no kind.
  if (kind === null) return 'dns';
  return kind === 'refused' ? 'connection_refused' : kind;
}

/** Removes user name and password from a URL. Browsers, too, do not send them unless the server answers 401. */
function withoutCredentials(href: string): string {
  const url = new URL(href);
  url.username = '';
  url.password = '';
  return url.href;
}

/**
 * Returns the fragments that match no element of the page; [] if the response is not HTML or larger than `maxBytes`, or if a
 * redirect led to another fragment.
 */
async function findMissing(
  response: GuardedResponse,
  fragments: readonly string[],
  { offload, signal, deadline }: CheckOptions,
): Promise<readonly string[]> {
  const named = fragments.filter((fragment) => fragment !== '');
  if (named.length === 0 || response.fragment !== '') return [];
  if (response.status < 200 || response.status > 299 || !response.decoded) return [];
  const bytes = await response.bytes();
  const contentType = response.header('content-type');
  if (response.truncated || !isHtml(bytes, contentType)) return [];
  const page = { url: response.url, statusCode: response.status, contentType, bytes };
  return offload<typeof missingFragments>(
    'missing-fragments',
    { page, fragments: named },
    { signal, deadline },
  );
}

interface Checked {
  verdict: Verdict;
  missing: readonly string[];
}

async function request(href: string, fragments: readonly string[], options: CheckOptions): Promise<Checked> {
  const { egress, signal, deadline } = options;
  try {
    const target = egress.parseTarget(withoutCredentials(href), { kind: 'url', pointer: '' });
    // Without fragments the body is not read. Disposing of the response closes the connection.
    using response = await egress.fetch(target, {
      headers: PAGE_HEADERS,
      maxBytes: PAGE_BYTES,
      overflow: 'truncate',
      maxRedirects: REDIRECTS,
      signal,
      deadline,
    });
    return {
      verdict: verdictOf(target.url?.href ?? href, response),
      missing: await findMissing(response, fragments, options),
    };
  } catch (error) {
    signal.throwIfAborted();
    const reason = reasonOf(error);
    if (reason === null) throw error;
    const nothing = { statusCode: null, finalUrl: null, replacement: null };
    return { verdict: { ...nothing, broken: true, reason }, missing: [] };
  }
}

/**
 * Requests the URL of links that differ only in their fragments, and looks for the fragments in the page.
 *
 * @returns one report per link
 * @throws the signal's reason; errors that the links did not cause, such as `deadline_exceeded`
 */
export async function checkLinks(
  href: string,
  links: readonly Link[],
  options: CheckOptions,
): Promise<LinkReport[]> {
  const startedAt = performance.now();
  const fragments = links.map(({ url }) => fragmentOf(new URL(url).hash));
  const { verdict, missing } = await request(href, fragments, options);
  const ms = Math.round(performance.now() - startedAt);
  return links.map(({ url, text }, index) => {
    const isMissing = missing.includes(fragments[index] ?? '');
    const hash = verdict.replacement?.includes('#') === true ? '' : new URL(url).hash;
    const replacement = verdict.replacement && verdict.replacement + hash;
    const own: Verdict = isMissing
      ? { ...verdict, broken: true, reason: 'fragment', replacement: null }
      : { ...verdict, replacement };
    return { url, text, ...own, explanation: explain({ ...own, url }), ms };
  });
}
