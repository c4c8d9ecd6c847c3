/** Why the local stack cannot start, in one line that its user can act on; shown without a stack trace. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

export type Log = (line: string) => void;
