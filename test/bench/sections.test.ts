import test from 'ava';
import type { Goal } from './goals.ts';
import { createSections } from './sections.ts';
import { SHORT } from './sizes.ts';
import { startSubjects } from './subjects.ts';

const owned = new AsyncDisposableStack();
const goals: Goal[] = [];
let sections: Record<string, () => Promise<object>>;

test.before(async (t) => {
  t.timeout(300_000);
  sections = createSections(await startSubjects(owned), SHORT, goals);
});
test.after.always(() => owned.disposeAsync());

/** Returns the numbers of a table. */
const figuresIn = (value: unknown): number[] => {
  if (typeof value === 'number') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(figuresIn) : [];
};

for (const name of Object.keys(SHORT))
  test.serial(`${name} gives its figures`, async (t) => {
    t.timeout(300_000);
    const figures = figuresIn(await sections[name]?.());
    t.true(figures.length > 0);
    t.true(figures.every(Number.isFinite), String(figures));
  });

test.serial('every goal has a figure', (t) => {
  t.true(goals.length > 10);
  for (const { figure, value } of goals) t.true(Number.isFinite(value), figure);
});
