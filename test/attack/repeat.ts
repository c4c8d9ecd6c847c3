import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds before the next request of a loop whose request was refused. */
const REFUSED_MS = 500;

/** Repeats an act in several loops. @param act returns whether the service did what was asked, which counts */
export function repeat(
  loops: number,
  count: () => void,
  act: (index: number) => Promise<boolean>,
): Promise<never[]> {
  let next = 0;
  const loop = async (): Promise<never> => {
    for (;;)
      if (await act(next++).catch(() => false)) count();
      else await sleep(REFUSED_MS);
  };
  return Promise.all(Array.from({ length: loops }, loop));
}
