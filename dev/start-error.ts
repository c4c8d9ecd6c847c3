/** A reason why the local stack cannot start. Its message is one line for the user, shown without a stack trace. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

export type Log = (line: string) => void;
