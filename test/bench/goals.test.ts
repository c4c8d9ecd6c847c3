import test from 'ava';
import { compareGoals, type Goal } from './goals.ts';

const time = (value: number): Goal => ({ figure: 'p50, ms', value, atMost: 10 });
const rate = (value: number): Goal => ({ figure: 'pairs/s', value, atLeast: 10 });
const ratio = (value: number): Goal => ({ figure: 'measured / predicted', value, atLeast: 0.8, atMost: 1.2 });

const mark = (goal: Goal, before: number) =>
  compareGoals([goal], { [goal.figure]: before })[goal.figure]?.mark;

test('a figure is marked when it is worse than the saved one by more than a tenth', (t) => {
  t.is(mark(time(5.4), 5), '');
  t.is(mark(time(5.6), 5), 'worse');
  t.is(mark(time(2), 5), '');
  t.is(mark(rate(46), 50), '');
  t.is(mark(rate(44), 50), 'worse');
  t.is(mark(rate(90), 50), '');
  t.is(mark({ figure: 'answers of 503', value: 1, atMost: 0 }, 0), 'worse');
  t.is(mark({ figure: 'overhead, ms', value: -0.5, atMost: 5 }, -0.48), '');
});

test('a figure between two bounds is only compared with them', (t) => {
  t.is(mark(ratio(1.1), 0.9), '');
  t.false(compareGoals([ratio(1.3)], {})['measured / predicted']?.met);
});

test('a figure that was never saved has no mark', (t) => {
  t.deepEqual(compareGoals([time(11.234)], {}), {
    'p50, ms': { value: 11.23, goal: 'at most 10', met: false, before: undefined, mark: '' },
  });
});
