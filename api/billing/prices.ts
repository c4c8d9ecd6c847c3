import type { Pack } from '../../schemas/formats/packs.ts';
import type { Registry } from '../../schemas/registry.ts';

/** The pack from which prices in money derive: the smallest one, because everybody can buy at its price. */
const smallest = (packs: readonly Pack[]): Pack | undefined =>
  packs.toSorted((a, b) => a.credits - b.credits)[0];

/** Most decimals of an amount, with which also small ones have three significant digits: $0.225, $0.009. */
const decimalsOf = (value: number): number => Math.min(10, Math.max(2, 2 - Math.floor(Math.log10(value))));

/**
 * Formats the price of credits in money at the price of the smallest pack: 25 credits as $0.225. Null if no credits are on
 * sale.
 */
export function moneyOf(credits: number, packs: readonly Pack[]): string | null {
  const pack = smallest(packs);
  if (pack === undefined) return null;
  const value = (pack.amount / 100 / pack.credits) * credits;
  return new Intl.NumberFormat('en', {
    style: 'currency',
    currency: pack.currency,
    minimumFractionDigits: 2,
    maximumFractionDigits: decimalsOf(value),
  }).format(value);
}

/** Tools whose numbers of results describe a pack, with the names of their results. */
const EXAMPLES = [
  { tool: 'website-screenshot', one: 'screenshot', many: 'screenshots' },
  { tool: 'word-to-pdf', one: 'Word document as PDF', many: 'Word documents as PDF' },
  { tool: 'hash-text', one: 'hash', many: 'hashes' },
] as const;

/** Describes credits as results, such as `40 screenshots, 66 Word documents as PDF or 1,000 hashes`; '' if they are too few. */
export function worthOf(credits: number, registry: Registry): string {
  const number = new Intl.NumberFormat('en');
  const parts = EXAMPLES.flatMap(({ tool: name, one, many }) => {
    const calls = Math.floor(credits / (registry.get(name)?.price ?? Number.POSITIVE_INFINITY));
    return calls < 1 ? [] : [`${number.format(calls)} ${calls === 1 ? one : many}`];
  });
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(parts);
}

/** Packs to buy, and their price in hundredths of the currency unit. */
export interface Purchase {
  packs: { pack: Pack; times: number }[];
  amount: number;
  credits: number;
}

function addPacks(pack: Pack, times: number, rest: Purchase): Purchase {
  return {
    packs: [...(times === 0 ? [] : [{ pack, times }]), ...rest.packs],
    amount: pack.amount * times + rest.amount,
    credits: pack.credits * times + rest.credits,
  };
}

const NOTHING: Purchase = { packs: [], amount: 0, credits: 0 };

/** Returns the cheaper purchase, the first one if both cost the same. */
const cheaper = (a: Purchase | null, b: Purchase | null): Purchase | null =>
  a !== null && (b === null || a.amount <= b.amount) ? a : b;

/** Tries packs from the largest to the smallest: as many as fit and the rest in smaller ones, or one more. */
function fill(credits: number, packs: readonly Pack[]): Purchase | null {
  const [pack, ...smaller] = packs;
  if (credits <= 0) return NOTHING;
  if (pack === undefined) return null;
  const fitting = Math.floor(credits / pack.credits);
  const rest = fill(credits - fitting * pack.credits, smaller);
  const withRest = rest === null ? null : addPacks(pack, fitting, rest);
  const oneMore = addPacks(pack, Math.ceil(credits / pack.credits), NOTHING);
  return cheaper(cheaper(withRest, oneMore), fitting === 0 ? null : fill(credits, smaller));
}

/** Largest number of packs that are combined; an installation has about three. */
const MOST_PACKS = 8;

/** Returns packs of one currency that together have these credits, for a low price; null if no credits are on sale. */
export function packsFor(credits: number, packs: readonly Pack[]): Purchase | null {
  const currency = smallest(packs)?.currency;
  const own = packs.filter((pack) => pack.currency === currency);
  return fill(credits, own.toSorted((a, b) => b.credits - a.credits).slice(0, MOST_PACKS));
}
