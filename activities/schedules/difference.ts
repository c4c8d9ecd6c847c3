import { createHash } from 'node:crypto';
import { cutText } from '../../schemas/errors.ts';
import { type Difference, MAX_CHANGES } from '../../schemas/schedules.ts';
import type { Snapshot } from '../../store/schedules/sealed.ts';

/** Limits of the lines of a result that are kept to describe a difference. The digest tells whether there is one. */
const KEPT = { lines: 5000, characters: 256 * 1024, perLine: 1000 } as const;

/** Returns what is compared of a result, whose lines come in groups that need not be in memory together. */
export async function snapshotOf(
  groups: Iterable<readonly string[]> | AsyncIterable<readonly string[]>,
): Promise<Snapshot> {
  const hash = createHash('sha256');
  const kept: string[] = [];
  let left: number = KEPT.characters;
  for await (const lines of groups)
    for (const line of lines) {
      hash.update(`${line}\n`);
      const cut = cutText(line, KEPT.perLine);
      left -= cut.length;
      if (left >= 0 && kept.length < KEPT.lines) kept.push(cut);
    }
  return { sha256: hash.digest('hex'), lines: kept };
}

/** Returns the lines of `lines` that are not in `others`, each as often as it is there more often. */
function missingIn(lines: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const line of others) counts.set(line, (counts.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = counts.get(line) ?? 0;
    counts.set(line, count - 1);
    return count <= 0;
  });
}

/** Describes how a result differs from an earlier one. Lines that were only moved are in neither list. @param picture how its picture does */
export function differenceOf(
  before: Snapshot,
  after: Snapshot,
  picture: Difference['picture'] = null,
): Difference {
  const added = missingIn(after.lines, before.lines);
  const removed = missingIn(before.lines, after.lines);
  const { lines: most, characters } = MAX_CHANGES;
  const shownAdded = added.slice(0, Math.max(most / 2, most - removed.length));
  const shownRemoved = removed.slice(0, most - shownAdded.length);
  const described = (change: 'added' | 'removed', lines: readonly string[]) =>
    lines.map((text) => ({ change, text: cutText(text, characters) }));
  return {
    added: added.length,
    removed: removed.length,
    lines: [...described('removed', shownRemoved), ...described('added', shownAdded)],
    picture,
  };
}
