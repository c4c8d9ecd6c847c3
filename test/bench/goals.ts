/** A measured figure and the goal it must reach. */
export interface Goal {
  figure: string;
  value: number;
  atMost?: number;
  atLeast?: number;
}

/** A row of the table of goals that the benchmark prints at its end. */
export interface GoalRow {
  value: number;
  goal: string;
  met: boolean;
}

/** Compares the figures with their goals. Returns the rows of the table by the name of the figure. */
export const compareGoals = (goals: readonly Goal[]): Record<string, GoalRow> =>
  Object.fromEntries(
    goals.map(({ figure, value, atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY }) => [
      figure,
      {
        value: Math.round(value * 100) / 100,
        goal: [
          ...(Number.isFinite(atMost) ? [`at most ${atMost}`] : []),
          ...(Number.isFinite(atLeast) ? [`at least ${atLeast}`] : []),
        ].join(', '),
        met: value <= atMost && value >= atLeast,
      },
    ]),
  );
