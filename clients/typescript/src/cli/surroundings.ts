/** The environment variables, output streams and interrupt signal of the command. */
export interface Surroundings {
  env: Readonly<Record<string, string | undefined>>;
  out(data: string | Uint8Array): void;
  progress(line: string): void;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
}
