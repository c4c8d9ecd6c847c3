/** A measured figure and the goal it must reach. */
export interface Goal {
  figure: string;
  value: number;
  atMost?: number;
  atLeast?: number;
}

/** A row of the table of goals that the benchmark prints at its end. */
interface GoalRow {
  value: number;
  goal: string;
  met: boolean;
  /** The saved value, if there is one. */
  before: number | undefined;
  /** `worse` if the figure moved away from its goal by more than `TOLERANCE` of the saved value. */
  mark: '' | 'worse';
}

/** Change, as a share of the saved value, that counts as noise. */
export const TOLERANCE = 0.1;

const round = (value: number) => Math.round(value * 100) / 100;

/** Whether the value moved away from its goal by more than the tolerance. A figure with two bounds has no such direction. */
function isWorse({ value, atMost, atLeast }: Goal, before: number): boolean {
  if (atMost !== undefined && atLeast !== undefined) return false;
  const tolerated = TOLERANCE * Math.abs(before);
  return atLeast === undefined ? value > before + tolerated : value < before - tolerated;
}

/**
 * Compares the figures with their goals and with the saved figures. Returns the rows of the table by the name of the figure.
 *
 * @param saved values by the name of the figure
 */
export const compareGoals = (
  goals: readonly Goal[],
  saved: Readonly<Record<string, number>>,
): Record<string, GoalRow> =>
  Object.fromEntries(
    goals.map((goal) => {
      const { figure, value, atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY } = goal;
      const before = saved[figure];
      const row: GoalRow = {
        value: round(value),
        goal: [
          ...(Number.isFinite(atMost) ? [`at most ${atMost}`] : []),
          ...(Number.isFinite(atLeast) ? [`at least ${atLeast}`] : []),
        ].join(', '),
        met: value <= atMost && value >= atLeast,
        before,
        mark: before !== undefined && isWorse(goal, before) ? 'worse' : '',
      };
      return [figure, row];
    }),
  );
