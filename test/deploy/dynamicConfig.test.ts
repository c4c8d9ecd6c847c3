import { readFileSync } from 'node:fs';
import test from 'ava';
import { parse } from 'yaml';
import { DYNAMIC_CONFIG } from '../../dev/temporal.ts';

test('production Temporal servers schedule tasks as the local server does, on which fairness is tested', (t) => {
  const local = DYNAMIC_CONFIG.filter((setting) => setting.startsWith('matching.'));
  const file: Record<string, { value: unknown }[]> = parse(
    readFileSync('docker/temporal/dynamicconfig.yaml', 'utf8'),
  );
  const production = Object.entries(file).map(([key, values]) => `${key}=${values[0]?.value}`);
  t.true(local.includes('matching.enableFairness=true'));
  t.deepEqual(production.toSorted(), local.toSorted());
});
