export interface Lock {
  release(): Promise<void>;
  /** Whether the previous holder died without releasing the lock. */
  abandoned: boolean;
}

export function acquireLock(file: string): Promise<Lock | null>;
