import { ServiceError } from '../schemas/errors.ts';

/** The kinds of a `target_failed` error. Every `target_failed` error of the egress guard has a kind, except DNS errors. */
export const FAILURE_KINDS = [
  'refused',
  'reset',
  'unreachable',
  'tls',
  /** The TLS handshake succeeded, but the certificate is not valid for this host. */
  'certificate',
  'protocol',
  'redirects',
] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

const DETAILS: Record<FailureKind, string> = {
  refused: 'The target refused the connection.',
  reset: 'The target closed the connection too early.',
  unreachable: 'The target cannot be reached.',
  tls: 'The TLS handshake with the target failed.',
  certificate: 'The certificate of the target is not valid.',
  protocol: 'The response of the target is not valid HTTP.',
  redirects: 'The target redirected too many times.',
};

class TargetFailure extends Error {
  override readonly name = 'TargetFailure';
  readonly kind: FailureKind;
  constructor(kind: FailureKind, cause: unknown) {
    super(kind, { cause });
    this.kind = kind;
  }
}

/** Creates a `target_failed` error. Its cause is logged but never sent to the caller, so it may contain IP addresses. */
export const targetFailed = (
  kind: FailureKind,
  { detail = DETAILS[kind], cause }: { detail?: string; cause?: unknown } = {},
): ServiceError => new ServiceError('target_failed', { detail, cause: new TargetFailure(kind, cause) });

/** Returns the kind of a `target_failed` error, for tools that report it; null for errors without a kind. */
export const failureKind = (error: unknown): FailureKind | null =>
  error instanceof ServiceError && error.cause instanceof TargetFailure ? error.cause.kind : null;

const KINDS: Readonly<Record<string, FailureKind>> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  ECONNABORTED: 'reset',
  EPIPE: 'reset',
  EHOSTUNREACH: 'unreachable',
  EHOSTDOWN: 'unreachable',
  ENETUNREACH: 'unreachable',
  ENETDOWN: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  EACCES: 'unreachable',
  EPERM: 'unreachable',
  EINVAL: 'unreachable',
  EPROTO: 'tls',
};

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** Maps a socket, TLS or HTTP error of Node to a ServiceError; returns other errors unchanged. */
export function readSocketError(error: unknown): unknown {
  const code = codeOf(error);
  if (code === 'ETIMEDOUT') return new ServiceError('target_timeout', { cause: error });
  if (code.startsWith('HPE_')) return targetFailed('protocol', { cause: error });
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_'))
    return targetFailed('tls', { cause: error });
  const kind = KINDS[code];
  return kind === undefined ? error : targetFailed(kind, { cause: error });
}
