import { ApiError, ConnectionError, TimeoutError } from '../errors.ts';

/** Exit codes by kind of error. */
export const EXIT = {
  success: { code: 0, about: 'success' },
  unexpected: { code: 1, about: 'unexpected error, or the result could not be written' },
  usage: { code: 2, about: 'unknown command or option, or a missing one' },
  input: { code: 3, about: 'the service rejected the input' },
  key: { code: 4, about: 'the API key is missing, invalid or not permitted (401, 403)' },
  credits: { code: 5, about: 'too few credits, or the price exceeds --max-credits (402)' },
  target: { code: 6, about: 'the target or the file could not be used' },
  later: { code: 7, about: 'rate limit, or the service is temporarily unavailable (429, 5xx): repeat later' },
  connection: { code: 8, about: 'no connection, or not finished within --timeout' },
  rows: { code: 9, about: 'rows of a batch failed or were cancelled' },
  interrupted: { code: 130, about: 'interrupted with Ctrl-C' },
} as const;
export type ExitKind = keyof typeof EXIT;

/** A mistake on the command line. */
export class UsageError extends Error {}

/** An outcome that is no error of a request. */
export class CommandError extends Error {
  readonly kind: ExitKind;

  constructor(message: string, kind: ExitKind) {
    super(message);
    this.kind = kind;
  }
}

const INPUT = [
  'invalid_input',
  'malformed_json',
  'invalid_header',
  'body_too_large',
  'unknown_tool',
  'not_found',
];

function kindOfCode({ code, status }: ApiError): ExitKind {
  if (status === 401 || status === 403) return 'key';
  if (status === 402) return 'credits';
  if (INPUT.includes(code) || code.startsWith('idempotency_key')) return 'input';
  if (code.startsWith('target_') || status === 422) return 'target';
  return 'later';
}

/** The kind of an error, which decides the exit code. */
export function exitKindOf(error: unknown): ExitKind {
  if (error instanceof UsageError) return 'usage';
  if (error instanceof CommandError) return error.kind;
  if (error instanceof ApiError) return kindOfCode(error);
  if (error instanceof ConnectionError || error instanceof TimeoutError) return 'connection';
  if (error instanceof Error && error.name === 'AbortError') return 'interrupted';
  return 'unexpected';
}
