/**
 * Phases of a tool call in the API: authentication with rate limits; reading and validating the body; recording the call
 * and starting its workflow; waiting for the result; building the response.
 */
const CALL_PHASES = ['authenticate', 'read', 'start', 'run', 'respond'] as const;
type CallPhase = (typeof CALL_PHASES)[number];

/** Duration in milliseconds of each phase that a call has reached. */
export type PhaseTimes = Partial<Record<CallPhase, number>>;

export interface Phases {
  /** Ends the current phase and begins another one. */
  begin(phase: CallPhase): void;
  /** Returns the duration in milliseconds of each phase so far. */
  times(): PhaseTimes;
}

/** Measures the phases of a call. @param since when the first one began, as `performance.now()` */
export function startPhases(since: number): Phases {
  const times: PhaseTimes = {};
  let current: CallPhase = CALL_PHASES[0];
  let began = since;
  const add = () => {
    const now = performance.now();
    times[current] = (times[current] ?? 0) + now - began;
    began = now;
  };
  return {
    begin(phase) {
      add();
      current = phase;
    },
    times() {
      add();
      return { ...times };
    },
  };
}
