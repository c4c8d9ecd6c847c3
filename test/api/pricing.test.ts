import test from 'ava';
import { moneyOf, packsFor, worthOf } from '../../api/billing/prices.ts';
import { parsePacks } from '../../schemas/formats/packs.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { useStack } from '../helpers/profiles.ts';
import { seededRandom } from '../helpers/random.ts';

const registry = await loadRegistry();
const PACKS = parsePacks(['25000:169.00 USD', '1000:9.00 USD', '5000:39.00 USD']);

const stack = await useStack();
test.after.always(() => stack.stop());

test('prices in money are those of the smallest pack, with as many digits as they need', (t) => {
  t.is(moneyOf(1, PACKS), '$0.009');
  t.is(moneyOf(25, PACKS), '$0.225');
  t.is(moneyOf(100, PACKS), '$0.90');
  t.is(moneyOf(1000, PACKS), '$9.00');
  t.is(moneyOf(1_000_000, PACKS), '$9,000.00');
  t.is(moneyOf(1, parsePacks(['300:10.00 EUR'])), '€0.0333');
  t.is(moneyOf(1, []), null);
});

test('the worth of a pack is told in results', (t) => {
  t.is(worthOf(1000, registry), '40 screenshots, 66 Word documents as PDF, or 1,000 hashes');
  t.is(worthOf(20, registry), '1 Word document as PDF or 20 hashes');
  t.is(worthOf(0, registry), '');
});

/** The lowest price of at least these credits, by trying every number of each pack. */
function lowest(credits: number, packs: readonly { credits: number; amount: number }[]): number {
  const [pack, ...others] = packs;
  if (credits <= 0) return 0;
  if (pack === undefined) return Number.POSITIVE_INFINITY;
  let best = Number.POSITIVE_INFINITY;
  for (let times = 0; times <= Math.ceil(credits / pack.credits); times++)
    best = Math.min(best, times * pack.amount + lowest(credits - times * pack.credits, others));
  return best;
}

test('the packs of a plan suffice, and cost the least with the packs of the default installation', (t) => {
  const random = seededRandom((line) => t.log(line));
  for (let round = 0; round < 300; round++) {
    const credits = random.integer(1, 120_000);
    const purchase = packsFor(credits, PACKS);
    if (purchase === null) return t.fail();
    t.true(purchase.credits >= credits);
    t.is(
      purchase.packs.reduce((sum, { pack, times }) => sum + times * pack.amount, 0),
      purchase.amount,
    );
    t.is(purchase.amount, lowest(credits, PACKS), `${credits} credits`);
  }
  t.is(packsFor(100, []), null);
});

test('the pricing page lists every tool in credits and money, and calculates the calls of a month', async (t) => {
  const html = await (await fetch(`${stack.baseUrl}/pricing`)).text();
  for (const { name, price } of registry.values())
    t.true(
      html.includes(`<td>${price}</td><td>${moneyOf(price, PACKS)}</td>`) && html.includes(`name="${name}"`),
      name,
    );
  t.regex(html, /40 screenshots/);
  const query = new URLSearchParams({
    'website-screenshot': '1000',
    'hash-text': '500',
    ping: '-3',
    none: '9',
  });
  const response = await fetch(`${stack.baseUrl}/pricing?${query}`);
  t.is(response.headers.get('Cache-Control'), 'no-store');
  const text = (await response.text()).replaceAll(/<[^>]+>/g, '');
  t.regex(
    text,
    /1,500 calls a month cost 25,500 credits\. For example 1 × 25,000 credits and 1 × 1,000 credits: \$178\.00 a month/,
  );
  for (const value of ['1e3', '1.5', '99999999999', '"><script>', 'NaN', '']) {
    const odd = await fetch(`${stack.baseUrl}/pricing?${new URLSearchParams({ ping: value })}`);
    t.is(odd.status, 200, value);
    t.notRegex(await odd.text(), /<script>|99999999999/, value);
  }
});
