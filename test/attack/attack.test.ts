import test from 'ava';
import { ATTACKS } from './attacks.ts';
import { exceeded, type MeasureAttack, startScene } from './measureAttacks.ts';

// The attacks of `npm run attack` in small. Durations are goals of the full run, and mean nothing here.

const SIZES = { calls: 3, share: 0.05, openMs: 500 };

const owned = new AsyncDisposableStack();
let attack: MeasureAttack;

test.before(async (t) => {
  t.timeout(300_000);
  attack = await startScene(owned);
});
test.after.always(() => owned.disposeAsync());

for (const name of Object.keys(ATTACKS))
  test.serial(`another account is served, and little stays, during the attack: ${name}`, async (t) => {
    t.timeout(300_000);
    const harm = await attack(name, SIZES);
    t.log(harm);
    t.true(harm.count > 0);
    t.deepEqual(
      exceeded(harm).filter((figure) => figure !== 'p95'),
      [],
    );
  });
