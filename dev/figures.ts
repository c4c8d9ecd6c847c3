import { markdownTable } from './markdownTable.ts';
import type { Saved } from './results.ts';

/** Figures that users care about: what each says, and its name among the goals of the benchmark. */
const FIGURES = [
  ['A call of hash-text: its time beside that of a bare Temporal workflow', 'call / bare workflow, p50'],
  [
    'A screenshot: its time beside that of a bare Puppeteer script, without what every call costs',
    'screenshot / bare puppeteer, p50 (still)',
  ],
  [
    'A PDF of a Word document: its time beside that of unoserver',
    'word-to-pdf / unoserver, p50 in succession',
  ],
  ['Webhooks delivered per second on two cores', 'webhooks delivered, /s'],
  [
    'Memory of all processes at rest, in MB, without Chromium and servers',
    'idle memory without Chromium, MB',
  ],
] as const;

/** Formats the saved figures of the benchmark that users care about. @param results by the names of the goals */
export const figureTable = (results: Readonly<Record<string, Saved>>): string =>
  markdownTable(
    [{ title: 'Figure' }, { title: 'Measured', numeric: true }, { title: 'On' }],
    FIGURES.map(([text, name]) => {
      const result = results[name];
      return [text, result === undefined ? '' : `${result.value}`, result?.date ?? ''];
    }),
  );
