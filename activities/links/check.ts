import { failureKind } from '../../egress/failure.ts';
import type { Guard } from '../../egress/guard.ts';
import { type ErrorCode, ServiceError } from '../../schemas/errors.ts';
import type { ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/broken-links.ts';
import type { Link } from '../html/links.ts';

export type LinkReport = ToolOutput<typeof definition>['links'][number];
type Reason = Exclude<LinkReport['reason'], null>;
type Verdict = Pick<LinkReport, 'statusCode' | 'broken' | 'reason' | 'finalUrl'>;

interface CheckOptions {
  egress: Guard;
  signal: AbortSignal;
  /** Time by which the response headers must arrive, epoch milliseconds. */
  deadline: number;
}

const REDIRECTS = 5;
/** Statuses with which servers turn away programs but not visitors. LinkedIn uses 999. */
const BLOCKED: ReadonlySet<number> = new Set([401, 403, 429, 999]);

/** Reasons by error code. `reasonOf` distinguishes the kinds of `target_failed`. */
const REASONS: Partial<Record<ErrorCode, Reason>> = {
  invalid_input: 'malformed',
  target_refused: 'refused',
  host_not_found: 'dns',
  target_timeout: 'timeout',
};

function verdictOf(statusCode: number, finalUrl: string): Verdict {
  const blocked = BLOCKED.has(statusCode);
  const broken = statusCode >= 400 && !blocked;
  return { statusCode, finalUrl, broken, reason: blocked ? 'blocked' : broken ? 'status' : null };
}

/** Returns the reason for an error; null when the link did not cause it. */
function reasonOf(error: unknown): Reason | null {
  if (!(error instanceof ServiceError)) return null;
  if (error.code !== 'target_failed') return REASONS[error.code] ?? null;
  const kind = failureKind(error);
  // Only DNS failures have no kind.
  if (kind === null) return 'dns';
  return kind === 'refused' ? 'connection_refused' : kind;
}

/** Removes the user name and password. Browsers also send them only after a 401 response. */
function withoutCredentials(href: string): string {
  const url = new URL(href);
  url.username = '';
  url.password = '';
  return url.href;
}

async function request(href: string, { egress, signal, deadline }: CheckOptions): Promise<Verdict> {
  try {
    const target = egress.parseTarget(withoutCredentials(href), { kind: 'url', pointer: '' });
    // The body is not read. Disposing of the response closes the connection.
    using response = await egress.fetch(target, { maxBytes: 0, maxRedirects: REDIRECTS, signal, deadline });
    return verdictOf(response.status, response.url);
  } catch (error) {
    signal.throwIfAborted();
    const reason = reasonOf(error);
    if (reason === null) throw error;
    return { statusCode: null, finalUrl: null, broken: true, reason };
  }
}

/** Requests a link. @throws the signal's reason; errors that the link did not cause, such as `deadline_exceeded` */
export async function checkLink({ url, text }: Link, options: CheckOptions): Promise<LinkReport> {
  const startedAt = performance.now();
  const verdict = await request(url, options);
  return { url, text, ...verdict, ms: Math.round(performance.now() - startedAt) };
}
