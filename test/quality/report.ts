/** What a comparison found. */
export interface Report {
  /** Rows with numbers. */
  figures: readonly Readonly<Record<string, string | number>>[];
  /** The file of this folder that keeps the result, if any. */
  document: { name: string; text: string } | null;
  /** The table of the tool and of what it is measured against, which docs/quality.md shows, if any. */
  anchors?: { name: string; text: string };
  /** Whether the result is as good as wanted. */
  isGood: boolean;
}

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
