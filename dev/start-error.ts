/**
 * Thrown when the local stack cannot start. The message is one line for the user and is shown without a stack trace.
 */
export class StartError extends Error {
  override readonly name = 'StartError';
}

export type Log = (line: string) => void;
