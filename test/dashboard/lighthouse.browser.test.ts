import test from 'ava';
import { type Json, recordAt, recordsAt } from '../helpers/json.ts';
import {
  type Lighthouse,
  MEASURED_PAGES,
  numericValueOf,
  scoreOf,
  startLighthouse,
} from '../helpers/lighthouse.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';

/** Categories that do not depend on the speed of the machine. `npm run bench -- site` measures the performance. */
const CATEGORIES = ['accessibility', 'best-practices', 'seo'] as const;
const LEAST_SCORE = 0.95;
/** Maximum bytes that a page transfers, and maximum number of its elements, on which its performance depends. */
const PAGE_BYTES = 80_000;
const ELEMENTS = 1200;

let stack: SharedStack;
let lighthouse: Lighthouse;

test.before(async (t) => {
  t.timeout(900_000);
  stack = await useStack();
  lighthouse = await startLighthouse((line) => t.log(line));
});
test.after.always(async () => {
  await lighthouse?.[Symbol.asyncDispose]();
  await stack?.stop();
});

/** Ids of the audits of a category that lower its score. */
const losses = (result: Json, category: string): string[] =>
  recordsAt(recordAt(result, 'categories', category).auditRefs)
    .filter(({ weight }) => Number(weight) > 0)
    .map(({ id }) => recordAt(result, 'audits', String(id)))
    .filter(({ score }) => score !== null && Number(score) < 1)
    .map(({ id, displayValue }) => `${id} ${displayValue ?? ''}`);

for (const path of MEASURED_PAGES)
  test.serial(`Lighthouse: ${path} scores at least 95, is small, and no file blocks it`, async (t) => {
    t.timeout(300_000);
    const result = await lighthouse.report(`${stack.baseUrl}${path}`);
    for (const category of CATEGORIES)
      t.true(scoreOf(result, category) >= LEAST_SCORE, `${category}: ${losses(result, category).join(', ')}`);
    const bytes = numericValueOf(result, 'total-byte-weight');
    const elements = numericValueOf(result, 'dom-size');
    t.log(`${bytes} bytes, ${elements} elements, performance ${scoreOf(result, 'performance')}`);
    t.true(bytes < PAGE_BYTES, `${bytes} bytes`);
    t.true(elements < ELEMENTS, `${elements} elements`);
    const { details } = recordAt(result, 'audits', 'render-blocking-resources');
    t.deepEqual(
      recordsAt(recordAt({ details }, 'details').items).map(({ url }) => url),
      [],
    );
  });
