import { MEASURED_PAGES, numericValueOf, scoreOf, startLighthouse } from '../helpers/lighthouse.ts';
import type { Stack } from '../helpers/stack.ts';
import type { Sizes } from './sizes.ts';

interface SiteRow {
  path: string;
  /** Lighthouse's score of the category performance, from 0 to 100. */
  performance: number;
  /** First contentful paint on the telephone that Lighthouse simulates, in milliseconds. */
  firstPaint: number;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Measures pages of the site with Lighthouse. The figures are medians of the rounds, as Lighthouse recommends. */
export async function benchSite(
  { baseUrl }: Pick<Stack, 'baseUrl'>,
  { rounds, pages }: Sizes['site'],
): Promise<SiteRow[]> {
  await using lighthouse = await startLighthouse(console.log);
  const rows: SiteRow[] = [];
  for (const path of MEASURED_PAGES.slice(0, pages)) {
    const reports = [];
    for (let round = 0; round < rounds; round++) reports.push(await lighthouse.report(`${baseUrl}${path}`));
    rows.push({
      path,
      performance: 100 * median(reports.map((report) => scoreOf(report, 'performance'))),
      firstPaint: median(reports.map((report) => numericValueOf(report, 'first-contentful-paint'))),
    });
  }
  return rows;
}
