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
  /** Epoch milliseconds by which the headers must be there. */
  deadline: number;
}

const REDIRECTS = 5;
/** What servers tell programs, and not visitors; 999 is LinkedIn's. */
const BLOCKED: ReadonlySet<number> = new Set([401, 403, 429, 999]);

/** What becomes of a link by the error it ends with; the failures of a target are told apart below. */
const REASONS: Partial<Record<ErrorCode, Reason>> = {
  invalid_input: 'malformed',
  target_refused: 'refused',
  host_not_found: 'dns',
  target_timeout: 'timeout',
};

function judge(statusCode: number, finalUrl: string): Verdict {
  const blocked = BLOCKED.has(statusCode);
  const broken = statusCode >= 400 && !blocked;
  return { statusCode, finalUrl, broken, reason: blocked ? 'blocked' : broken ? 'status' : null };
}

/** null for an error that the link did not cause. */
function reasonOf(error: unknown): Reason | null {
  if (!(error instanceof ServiceError)) return null;
  if (error.code !== 'target_failed') return REASONS[error.code] ?? null;
  const kind = failureKind(error);
  // Only resolvers fail without a kind.
  if (kind === null) return 'dns';
  return kind === 'refused' ? 'connection_refused' : kind;
}

/** The link as it is asked for: browsers, too, send no user name and password before they are asked for them. */
function withoutCredentials(href: string): string {
  const url = new URL(href);
  url.username = '';
  url.password = '';
  return url.href;
}

async function ask(href: string, { egress, signal, deadline }: CheckOptions): Promise<Verdict> {
  try {
    const target = egress.parseTarget(withoutCredentials(href), { kind: 'url', pointer: '' });
    // Nothing of the body is read: closing the response ends the connection.
    using response = await egress.fetch(target, { maxBytes: 0, maxRedirects: REDIRECTS, signal, deadline });
    return judge(response.status, response.url);
  } catch (error) {
    signal.throwIfAborted();
    const reason = reasonOf(error);
    if (reason === null) throw error;
    return { statusCode: null, finalUrl: null, broken: true, reason };
  }
}

/** Requests a link. @throws the signal's reason; errors that the link did not cause, `deadline_exceeded` among them */
export async function checkLink({ url, text }: Link, options: CheckOptions): Promise<LinkReport> {
  const startedAt = performance.now();
  const verdict = await ask(url, options);
  return { url, text, ...verdict, ms: Math.round(performance.now() - startedAt) };
}
