import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import type { Quotes } from '../../activities/gold/quotes.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { CURRENCIES } from '../../schemas/tools/gold-price.ts';
import { codeOf } from '../helpers/egress.ts';
import { type Answer, FX, GOLD, metalAnswer, ratesAnswer, SILVER, startFeed } from '../helpers/feed.ts';
import { recordsAt } from '../helpers/json.ts';
import { backdateQuotes, openQuotesRig, type QuotesRig } from '../helpers/quotes.ts';
import { seededRandom } from '../helpers/random.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';
import { until } from '../helpers/until.ts';

// Tests run serially unless they wait for a timeout, because with all their databases at once a busy machine needs longer
// than a call waits for its first quote.

const MINUTE = 60_000;
const tool = await loadTool('gold-price');
const price = (quotes: Quotes, input: Record<string, unknown> = {}) => tool.call(input, { quotes });

async function openRig() {
  const feed = await startFeed();
  const rig = await openQuotesRig(feed);
  return {
    feed,
    ...rig,
    async [Symbol.asyncDispose]() {
      feed.close();
      await rig[Symbol.asyncDispose]();
    },
  };
}

/** Returns the price after all requests to the feeds have finished, so that it comes from their responses. */
async function settled({ quotes, store }: QuotesRig, input: Record<string, unknown> = {}) {
  await price(quotes, input);
  await until(
    'no request is pending',
    async () => (await store.quotes.countDocuments({ holder: { $ne: null } })) === 0,
  );
  return price(quotes, input);
}

/** A decimal number as an exact fraction. */
interface Fraction {
  over: bigint;
  under: bigint;
}
function fraction(decimal: string): Fraction {
  const [whole = '', part = ''] = decimal.split('.');
  return { over: BigInt(whole + part), under: 10n ** BigInt(part.length) };
}
const product = (...all: Fraction[]): Fraction =>
  all.reduce((a, b) => ({ over: a.over * b.over, under: a.under * b.under }), { over: 1n, under: 1n });
const inverse = ({ over, under }: Fraction): Fraction => ({ over: under, under: over });

/** Converts a fraction to a number with six decimals, rounding half up in integer arithmetic. */
function sixDecimals({ over, under }: Fraction): number {
  const millionths = (2n * over * 1_000_000n + under) / (2n * under);
  const digits = `${millionths}`.padStart(7, '0');
  return Number(`${digits.slice(0, -6)}.${digits.slice(-6)}`);
}

/** The weight of each unit in troy ounces. */
const OUNCE = fraction('1');
const GRAM = inverse(fraction('31.1034768'));
const TOLA = product(fraction('11.6638'), GRAM);

test.serial('prices are exact in every currency, for both metals and all karats', async (t) => {
  const random = seededRandom((line) => t.log(line));
  const decimals = (least: number, most: number, places: number): string =>
    `${random.integer(least, most)}.${String(random.integer(1, 10 ** places - 1)).padStart(places, '0')}`.replace(
      /0+$/,
      '',
    );
  for (let round = 0; round < 4; round++) {
    await using rig = await openRig();
    const ounces = new Map([
      ['gold', decimals(300, 9_000, random.integer(1, 6))],
      ['silver', decimals(1, 200, random.integer(1, 6))],
    ]);
    const rates = new Map([...CURRENCIES].map((code) => [code, decimals(0, 30_000, random.integer(1, 6))]));
    rates.set('USD', '1');
    rig.feed.answer(GOLD, metalAnswer('XAU', Number(ounces.get('gold'))));
    rig.feed.answer(SILVER, metalAnswer('XAG', Number(ounces.get('silver'))));
    rig.feed.answer(
      FX,
      ratesAnswer((code) => Number([...rates].find(([known]) => known === code)?.[1] ?? 1)),
    );
    for (const [metal, ounce] of ounces)
      for (const [currency, rate] of rates) {
        const exact = product(fraction(ounce), fraction(rate));
        const unitPrices = (fine: Fraction) => ({
          pricePerOunce: sixDecimals(product(exact, fine, OUNCE)),
          pricePerGram: sixDecimals(product(exact, fine, GRAM)),
          pricePerTola: sixDecimals(product(exact, fine, TOLA)),
        });
        const { karats, asOfUtc, ...rest } = await price(rig.quotes, { metal, currency });
        const label = `${ounce} USD, ${rate} ${currency}`;
        t.deepEqual(rest, { metal, currency, ...unitPrices(OUNCE), stale: false }, label);
        const expected = [24, 22, 21, 20, 18, 16, 14, 10].map((karat) => {
          const purity = { over: BigInt(karat), under: 24n };
          return { karat, purity: sixDecimals(purity), ...unitPrices(purity) };
        });
        t.deepEqual(karats, metal === 'gold' ? expected : [], label);
        t.is(typeof asOfUtc, 'string');
      }
  }
});

test.serial(
  'the default is gold in US dollars, which needs no exchange rate; invalid values are rejected',
  async (t) => {
    await using rig = await openRig();
    t.like(await price(rig.quotes), { metal: 'gold', currency: 'USD', pricePerOunce: 2700.5, stale: false });
    t.deepEqual(rig.feed.requested, [GOLD]);
    for (const input of [{ metal: 'platinum' }, { currency: 'eur' }, { currency: 'VND' }, { currency: '' }])
      t.is((await faultsOf(tool, input)).length, 1, JSON.stringify(input));
    t.is(CURRENCIES.length, 32);
  },
);

/** The same exchange rates in the response format of each feed, and the time that the feed states. */
const SHAPES: readonly (readonly [name: string, currency: string, answer: object, asOf: string])[] = [
  ['Frankfurter v2', 'EUR', ratesAnswer((code) => (code === 'EUR' ? 0.8 : 2)), '2025-01-15T00:00:00.000Z'],
  [
    'Frankfurter v1',
    'GBP',
    { amount: 1, base: 'EUR', date: '2025-01-15', rates: { USD: 1.25, GBP: 1 } },
    '2025-01-15T00:00:00.000Z',
  ],
  [
    'Frankfurter v1, of the base itself,',
    'EUR',
    { amount: 1, base: 'EUR', date: '2025-01-15', rates: { USD: 1.25, GBP: 1 } },
    '2025-01-15T00:00:00.000Z',
  ],
  [
    'Frankfurter v2, of the base itself,',
    'EUR',
    [
      { date: '2025-01-15', base: 'EUR', quote: 'USD', rate: 1.25 },
      { date: '2025-01-14', base: 'EUR', quote: 'GBP', rate: 1 },
    ],
    '2025-01-15T00:00:00.000Z',
  ],
  [
    'open.er-api.com',
    'EUR',
    {
      result: 'success',
      provider: 'https://www.exchangerate-api.com',
      time_last_update_unix: 1_736_899_351,
      time_last_update_utc: 'Wed, 15 Jan 2025 00:02:31 +0000',
      time_eol_unix: 0,
      base_code: 'USD',
      rates: { USD: 1, EUR: 0.8, PKR: 278.5 },
    },
    '2025-01-15T00:02:31.000Z',
  ],
  [
    'openexchangerates.org',
    'EUR',
    { timestamp: 1_736_899_351, base: 'USD', rates: { USD: 1, EUR: 0.8 } },
    '2025-01-15T00:02:31.000Z',
  ],
  [
    'docs/operations.md',
    'EUR',
    { base: 'USD', updatedAt: '2025-01-15T01:02:31+01:00', rates: { EUR: 0.8 } },
    '2025-01-15T00:02:31.000Z',
  ],
];

for (const [name, currency, answer, asOf] of SHAPES)
  test.serial(
    `exchange rates are read in the format of ${name}; asOf is the older of the two quotes`,
    async (t) => {
      await using rig = await openRig();
      rig.feed.answer(GOLD, metalAnswer('XAU', 2000, '2025-01-15T09:00:00Z'));
      rig.feed.answer(FX, answer);
      t.like(await price(rig.quotes, { currency }), { pricePerOunce: 1600, asOfUtc: asOf, stale: false });
      t.like(await price(rig.quotes), { asOfUtc: '2025-01-15T09:00:00.000Z' });
    },
  );

const raw =
  (body: string | Buffer, status = 200): Answer =>
  (_, response) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(body);
const HTML: Answer = (_, response) =>
  response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><h1>502 Bad Gateway</h1>');
const tomorrow = () => new Date(Date.now() + 1_440 * MINUTE).toISOString();

/** Faulty responses, for both the price feed and the exchange rate feed. */
const BROKEN: Readonly<Record<string, Answer>> = {
  'HTML with 200': HTML,
  'an empty body with 200': raw(''),
  'half of it': raw('{"price": 27'),
  'not a number in JSON': raw('{"price": NaN, "updatedAt": "2025-01-15T09:00:00Z"}'),
  null: raw('null'),
  'a number': raw('2700.5'),
  'an empty list': raw('[]'),
  'an empty object': raw('{}'),
  'a page of a million spaces': raw(Buffer.alloc(1_000_000, ' ')),
  'a redirect to itself': (request, response) =>
    response.writeHead(302, { Location: request.url ?? '' }).end(),
  'a redirect into the network': (_, response) =>
    response.writeHead(302, { Location: 'http://169.254.169.254/' }).end(),
  'a broken connection': (_, response) => response.destroy(),
};
const right = JSON.stringify(metalAnswer('XAU', 2800));
const FAULTY_METALS: Readonly<Record<string, Answer>> = {
  ...BROKEN,
  zero: metalAnswer('XAU', 0),
  negative: metalAnswer('XAU', -2700),
  'a spike': metalAnswer('XAU', 2700.5 * 1.21),
  'a fall': metalAnswer('XAU', 2700.5 * 0.79),
  'a shifted decimal point': metalAnswer('XAU', 27_005),
  'text for a number': metalAnswer('XAU', '2700.5'),
  'beyond all numbers': raw(right.replace('2800', '1e400')),
  'a price of almost nothing': metalAnswer('XAU', 1e-300),
  'no price': metalAnswer('XAU', undefined),
  'another metal': metalAnswer('XAG', 2700),
  'another currency': { ...metalAnswer('XAU', 2700), currency: 'EUR' },
  'from the future': metalAnswer('XAU', 2700, tomorrow()),
  'no time': metalAnswer('XAU', 2700, null),
  'a time that is none': metalAnswer('XAU', 2700, '2025-99-99T00:00:00Z'),
  'a reading time': metalAnswer('XAU', 2700, 'a few seconds ago'),
  'the right answer with status 500': raw(right, 500),
  'the right answer with status 404': raw(right, 404),
  'the right answer in a megabyte': raw(right.padEnd(1_000_000)),
};
const rates = (rate: unknown, date?: unknown) => ratesAnswer(() => rate, date);
const FAULTY_RATES: Readonly<Record<string, Answer>> = {
  ...BROKEN,
  zero: rates(0),
  negative: rates(-0.96),
  'a spike': rates(1.2),
  text: rates('0.96'),
  null: rates(null),
  'another currency missing': rates(0.96).filter(({ quote }) => quote !== 'EUR'),
  'another base, without the dollar': rates(0.96).map((row) => ({ ...row, base: 'GBP' })),
  'a dollar that is not one': { base: 'USD', date: '2025-01-15', rates: { USD: 2, EUR: 0.96 } },
  'from the future': rates(0.97, tomorrow()),
  'no time': rates(0.97, null),
  'rates that are a list': { base: 'USD', date: '2025-01-15', rates: [0.97] },
};

for (const [path, responses, good] of [
  [GOLD, FAULTY_METALS, 2592.48],
  [FX, FAULTY_RATES, 2592.48],
] as const)
  test.serial(
    `${path}: a faulty response is rejected, and the last good quote is returned as stale`,
    async (t) => {
      await using rig = await openRig();
      const truth = { [GOLD]: metalAnswer('XAU', 2700.5), [FX]: rates(0.96) };
      const euros = () => settled(rig, { currency: 'EUR' });
      t.like(await euros(), { pricePerOunce: good, stale: false });
      for (const [faulty, answer] of Object.entries(responses)) {
        await backdateQuotes(rig.store, MINUTE);
        rig.feed.answer(path, answer);
        const before = rig.feed.requested.length;
        t.like(await euros(), { pricePerOunce: good, stale: true }, faulty);
        t.true(rig.feed.requested.slice(before).includes(path), faulty);
        rig.feed.answer(path, truth[path]);
        await backdateQuotes(rig.store, MINUTE);
        t.like(await euros(), { pricePerOunce: good, stale: false }, `after ${faulty}`);
      }
    },
  );

for (const [name, answer] of [
  ['silent', () => undefined],
  [
    'slow',
    (_request, response) => {
      response.write('{');
      const drip = setInterval(() => response.write(' '), 100);
      response.on('close', () => clearInterval(drip));
    },
  ],
] satisfies [string, Answer][])
  test(`a ${name} feed delays a call only briefly if a stored quote can answer it`, async (t) => {
    await using rig = await openRig();
    await price(rig.quotes);
    await backdateQuotes(rig.store, MINUTE);
    rig.feed.answer(GOLD, answer);
    t.like(await price(rig.quotes), { pricePerOunce: 2700.5, stale: true });
    // The request to the feed continues in the background until it times out, and its error is logged.
    const fault = await until('the request to the feed is given up', async () => rig.faults[0] ?? null);
    // The second text is that of a busy process.
    t.regex(fault, /^XAU: .*(?:did not respond in time|exceeded its time limit)/);
  });

test.serial(
  'a metal or currency without a quote is feed_unavailable; other metals and currencies are not affected',
  async (t) => {
    await using rig = await openRig();
    rig.feed.answer(GOLD, HTML);
    rig.feed.answer(
      FX,
      rates(0.96).filter(({ quote }) => quote !== 'PKR'),
    );
    const error = await t.throwsAsync(() => price(rig.quotes), { instanceOf: ServiceError });
    t.is(error.code, 'feed_unavailable');
    t.is((await price(rig.quotes, { metal: 'silver', currency: 'EUR' })).stale, false);
    t.is(await codeOf(() => price(rig.quotes, { metal: 'silver', currency: 'PKR' })), 'feed_unavailable');
    rig.feed.answer(GOLD, metalAnswer('XAU', 2700.5));
    rig.feed.answer(FX, rates(0.96));
    await backdateQuotes(rig.store, MINUTE);
    t.is((await price(rig.quotes, { currency: 'PKR' })).stale, false);
  },
);

test('an implausible first quote is rejected', async (t) => {
  for (const faulty of [0, -2700, 1e-9, 1e300]) {
    await using rig = await openRig();
    rig.feed.answer(GOLD, metalAnswer('XAU', faulty));
    rig.feed.answer(FX, rates(faulty));
    t.is(await codeOf(() => price(rig.quotes)), 'feed_unavailable', `${faulty}`);
    const euros = () => price(rig.quotes, { metal: 'silver', currency: 'EUR' });
    t.is(await codeOf(euros), 'feed_unavailable', `${faulty}`);
  }
});

test('a quote is cached for a minute; a failed feed is retried after some seconds', async (t) => {
  await using rig = await openRig();
  const requested = () => rig.feed.requested.length;
  await price(rig.quotes);
  await backdateQuotes(rig.store, MINUTE - 10_000);
  await price(rig.quotes);
  t.is(requested(), 1);
  rig.feed.answer(GOLD, HTML);
  await backdateQuotes(rig.store, 10_000);
  for (let call = 0; call < 3; call++) t.true((await price(rig.quotes)).stale);
  t.is(requested(), 2);
  await backdateQuotes(rig.store, 5_000);
  await price(rig.quotes);
  t.is(requested(), 3);
});

test('a change of more than 20 % is accepted when three refreshes over ten minutes agree on it', async (t) => {
  await using rig = await openRig();
  const say = async (ounce: number) => {
    rig.feed.answer(GOLD, metalAnswer('XAU', ounce));
    await backdateQuotes(rig.store, 5 * MINUTE);
    const { pricePerOunce, stale } = await settled(rig);
    return [pricePerOunce, stale];
  };
  t.deepEqual(await say(1000), [1000, false]);
  t.deepEqual(await say(1200), [1200, false]);
  t.deepEqual(await say(2000), [1200, true]);
  t.deepEqual(await say(2050), [1200, true]);
  t.deepEqual(await say(1210), [1210, false]); // the price is back near 1200, so 2000 was a spike
  t.deepEqual(await say(2000), [1210, true]);
  t.deepEqual(await say(2050), [1210, true]);
  t.deepEqual(await say(3000), [1210, true]); // this value does not agree with the two before it
  t.deepEqual(await say(2000), [1210, true]);
  t.deepEqual(await say(2050), [1210, true]);
  t.deepEqual(await say(2100), [2100, false]);
});

test('two refreshes that agree are not enough, however far apart', async (t) => {
  await using rig = await openRig();
  await price(rig.quotes);
  rig.feed.answer(GOLD, metalAnswer('XAU', 4000));
  for (const expected of [2700.5, 2700.5, 4000]) {
    await backdateQuotes(rig.store, 15 * MINUTE);
    t.is((await settled(rig)).pricePerOunce, expected);
  }
});

test.serial(
  'fifty concurrent calls on two workers share one request to the feed and all get its price',
  async (t) => {
    await using rig = await openRig();
    const workers = [rig.quotes, rig.another()];
    rig.feed.answer(GOLD, (_, response) => {
      setTimeout(() => response.end(JSON.stringify(metalAnswer('XAU', 3000))), 300);
    });
    for (const round of [1, 2]) {
      const calls = workers.flatMap((quotes) => Array.from({ length: 25 }, () => price(quotes)));
      for (const call of await Promise.all(calls)) t.is(call.pricePerOunce, 3000);
      await until('the new quote is stored', async () => !(await price(rig.quotes)).stale);
      t.is(rig.feed.requested.length, round);
      await backdateQuotes(rig.store, MINUTE);
    }
  },
);

test('a worker that dies during a refresh does not block the refresh by other workers', async (t) => {
  await using rig = await openRig();
  await price(rig.quotes);
  await backdateQuotes(rig.store, MINUTE);
  const dead = new Date(Date.now() + MINUTE);
  await rig.store.quotes.updateOne({ _id: 'XAU' }, { $set: { holder: 'dead', leasedUntil: dead } });
  t.like(await price(rig.quotes), { stale: true });
  t.is(rig.feed.requested.length, 1);
  await backdateQuotes(rig.store, MINUTE);
  await until('another worker asks', async () => (await price(rig.quotes)).stale === false);
  t.is(rig.feed.requested.length, 2);
});

test('no call fails while the feed is unavailable or after it is available again', async (t) => {
  await using rig = await openRig();
  const { feed, store } = rig;
  await price(rig.quotes, { currency: 'PKR' });
  let over = false;
  const seen: boolean[] = [];
  const caller = async (quotes: Quotes): Promise<void> => {
    for (; !over; await sleep(5)) seen.push((await price(quotes, { currency: 'PKR' })).stale === true);
  };
  const calling = Promise.all([rig.quotes, rig.another()].map(caller));
  // It may fail before it is awaited.
  calling.catch(() => undefined);
  /** Ages the quotes, and waits until a call after that gets a quote that is stale or not. */
  const untilSeen = async (isStale: boolean) => {
    await backdateQuotes(store, MINUTE);
    const from = seen.length;
    await until(`a quote is ${isStale ? 'stale' : 'fresh'}`, async () => seen.slice(from).includes(isStale));
  };
  try {
    await untilSeen(false);
    await feed.stop();
    await untilSeen(true);
    await untilSeen(true);
    await feed.restart();
    await untilSeen(false);
  } finally {
    over = true;
    await t.notThrowsAsync(calling);
  }
});

test('an aborted call stops waiting for the feed immediately', async (t) => {
  await using rig = await openRig();
  rig.feed.answer(GOLD, () => undefined);
  const caller = new AbortController();
  const call = tool.call({}, { quotes: rig.quotes, signal: caller.signal });
  await until('the feed is requested', async () => rig.feed.requested.length === 1);
  caller.abort();
  await t.throwsAsync(() => call, { name: 'AbortError' });
});

test.serial('karats apply to gold only, and are listed finest first', async (t) => {
  await using rig = await openRig();
  const { karats } = await price(rig.quotes);
  t.deepEqual(
    recordsAt(karats).map(({ karat, purity }) => [karat, purity]),
    [
      [24, 1],
      [22, 0.916667],
      [21, 0.875],
      [20, 0.833333],
      [18, 0.75],
      [16, 0.666667],
      [14, 0.583333],
      [10, 0.416667],
    ],
  );
});
