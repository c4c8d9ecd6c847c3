export interface Lock {
  release(): Promise<void>;
  /** Whether the previous holder of the lock died without releasing it. */
  abandoned: boolean;
}

export function acquireLock(file: string): Promise<Lock | null>;
