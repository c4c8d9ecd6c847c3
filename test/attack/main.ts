import { installTestPrograms } from '../../dev/programs/tools.ts';
import { ATTACKS } from './attacks.ts';
import { exceeded, type Figure, type Harm, startScene } from './measureAttacks.ts';

/*
 * Attacks a service of its own with default limits while another account makes calls. Exits with 1 if a figure is above its limit.
 *   npm run attack -- [names of the attacks]
 */

const SIZES = { calls: 40, share: 1, openMs: 5000 };

const beside = ({ value, atMost }: Figure, unit = 1): string =>
  `${Math.round(value / unit)} of ${Math.round(atMost / unit)}`;

/** The row of the table: each figure beside its limit. */
const rowOf = (harm: Harm) => ({
  count: harm.count,
  'idle p50 ms': Math.round(harm.idleP50),
  'p95 ms': beside(harm.p95),
  '503': beside(harm.unavailable),
  failed: beside(harm.failed),
  'API MB': beside(harm.memory),
  'MongoDB KB': beside(harm.mongodb, 1000),
  'Temporal KB': beside(harm.temporal, 1000),
  exceeded: exceeded(harm).join(', '),
});

const wanted = process.argv.slice(2);
const names = Object.keys(ATTACKS);
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length > 0)
  throw new Error(`Unknown attack ${unknown.join(', ')}. Choose from:\n  ${names.join('\n  ')}`);

await installTestPrograms(console.log);
await using owned = new AsyncDisposableStack();
const attack = await startScene(owned);
const rows: Record<string, ReturnType<typeof rowOf>> = {};
for (const name of wanted.length > 0 ? wanted : names) {
  const row = rowOf(await attack(name, SIZES));
  console.error(name, row);
  rows[name] = row;
}
console.table(rows);
process.exitCode = Object.values(rows).some((row) => row.exceeded !== '') ? 1 : 0;
