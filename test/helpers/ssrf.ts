import { readFileSync } from 'node:fs';

/** A row of test/cases/ssrf.tsv; its README says what the kinds mean. */
export interface SsrfCase {
  input: string;
  kind: string;
  verdict: string;
  why: string;
}

export const SSRF_CASES: readonly SsrfCase[] = readFileSync(
  new URL('../cases/ssrf.tsv', import.meta.url),
  'utf8',
)
  .split('\n')
  .slice(1)
  .filter((line) => line !== '')
  .map((line) => {
    const [input = '', kind = '', verdict = '', why = ''] = line.split('\t');
    return { input: JSON.parse(`"${input}"`), kind, verdict, why };
  });

export const casesOf = (kind: string): SsrfCase[] => SSRF_CASES.filter((row) => row.kind === kind);
