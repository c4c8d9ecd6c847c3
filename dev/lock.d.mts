export interface Lock {
  release(): Promise<void>;
  /** Whoever held it before was killed. */
  abandoned: boolean;
}

export function takeLock(file: string): Promise<Lock | null>;
