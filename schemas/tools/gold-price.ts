import { defineTool } from '../tool.ts';

/** ISO 4217 codes of the supported currencies. */
export const CURRENCIES = [
  'USD',
  'GBP',
  'EUR',
  'CAD',
  'AUD',
  'JPY',
  'CNY',
  'PKR',
  'INR',
  'AED',
  'SAR',
  'TRY',
  'BDT',
  'NGN',
  'ZAR',
  'CHF',
  'SGD',
  'HKD',
  'MYR',
  'THB',
  'IDR',
  'EGP',
  'PHP',
  'KRW',
  'MXN',
  'BRL',
  'NZD',
  'SEK',
  'NOK',
  'DKK',
  'PLN',
  'CZK',
] as const;

const perUnit = {
  pricePerOunce: {
    type: 'number',
    exclusiveMinimum: 0,
    description: 'Price per troy ounce (31.1034768 g).',
  },
  pricePerGram: { type: 'number', exclusiveMinimum: 0, description: 'Price per gram.' },
  pricePerTola: { type: 'number', exclusiveMinimum: 0, description: 'Price per tola (11.6638 g).' },
} as const;

export default defineTool({
  name: 'gold-price',
  title: 'Gold and silver price',
  description:
    'Spot price of gold or silver in one of 32 currencies: a market quote in US dollars times an exchange rate, ' +
    'computed in decimal arithmetic and rounded once, half up, to six decimals. Quotes are cached for one minute. ' +
    'If a source is unreachable, slow, or sends an implausible value, the last plausible quote is returned, whatever ' +
    'its age (see `asOfUtc`), with `stale: true`. Implausible values are prices or rates that are not positive ' +
    'numbers, that are dated in the future, or that differ by more than 20 % from the last plausible one, unless at least ' +
    'three updates over ten minutes or more agree. `feed_unavailable` is returned only if there has never been a ' +
    'quote for the metal or a rate for the currency.',
  price: 1,
  pool: 'network',
  limits: { workMs: 10_000 },
  input: {
    type: 'object',
    properties: {
      metal: { type: 'string', enum: ['gold', 'silver'], default: 'gold', description: 'Metal to price.' },
      currency: {
        type: 'string',
        enum: CURRENCIES,
        default: 'USD',
        description: 'Currency of the prices as an ISO 4217 code in upper case.',
      },
    },
    required: [],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      metal: { type: 'string', enum: ['gold', 'silver'], description: 'Metal that was priced.' },
      currency: { type: 'string', enum: CURRENCIES, description: 'Currency of the prices.' },
      ...perUnit,
      karats: {
        type: 'array',
        description: 'Prices of gold alloys, finest first: 24, 22, 21, 20, 18, 16, 14, 10. Empty for silver.',
        items: {
          type: 'object',
          properties: {
            karat: {
              type: 'integer',
              minimum: 1,
              maximum: 24,
              description: 'Karat: parts of gold in 24 parts of the alloy.',
            },
            purity: {
              type: 'number',
              exclusiveMinimum: 0,
              maximum: 1,
              description: 'Gold content as a fraction between 0 and 1.',
            },
            ...perUnit,
          },
          required: ['karat', 'purity', 'pricePerGram', 'pricePerTola', 'pricePerOunce'],
          additionalProperties: false,
        },
      },
      asOfUtc: {
        type: 'string',
        format: 'date-time',
        description:
          'Publication time of the metal price or of the exchange rate, whichever is older, ISO 8601. Rates ' +
          'with only a date count as published at the start of that day.',
      },
      stale: {
        type: 'boolean',
        description: 'Whether an old quote was returned because a source could not be used.',
      },
    },
    required: [
      'metal',
      'currency',
      'pricePerOunce',
      'pricePerGram',
      'pricePerTola',
      'karats',
      'asOfUtc',
      'stale',
    ],
    additionalProperties: false,
  },
  examples: [
    {
      input: { metal: 'gold', currency: 'EUR' },
      output: {
        metal: 'gold',
        currency: 'EUR',
        pricePerOunce: 2592.48,
        pricePerGram: 83.350167,
        pricePerTola: 972.179683,
        karats: [
          { karat: 24, purity: 1, pricePerGram: 83.350167, pricePerTola: 972.179683, pricePerOunce: 2592.48 },
          {
            karat: 22,
            purity: 0.916667,
            pricePerGram: 76.40432,
            pricePerTola: 891.16471,
            pricePerOunce: 2376.44,
          },
          {
            karat: 21,
            purity: 0.875,
            pricePerGram: 72.931397,
            pricePerTola: 850.657223,
            pricePerOunce: 2268.42,
          },
          {
            karat: 20,
            purity: 0.833333,
            pricePerGram: 69.458473,
            pricePerTola: 810.149736,
            pricePerOunce: 2160.4,
          },
          {
            karat: 18,
            purity: 0.75,
            pricePerGram: 62.512626,
            pricePerTola: 729.134762,
            pricePerOunce: 1944.36,
          },
          {
            karat: 16,
            purity: 0.666667,
            pricePerGram: 55.566778,
            pricePerTola: 648.119789,
            pricePerOunce: 1728.32,
          },
          {
            karat: 14,
            purity: 0.583333,
            pricePerGram: 48.620931,
            pricePerTola: 567.104815,
            pricePerOunce: 1512.28,
          },
          {
            karat: 10,
            purity: 0.416667,
            pricePerGram: 34.729236,
            pricePerTola: 405.074868,
            pricePerOunce: 1080.2,
          },
        ],
        asOfUtc: '2025-01-15T00:00:00.000Z',
        stale: false,
      },
    },
  ],
  errors: ['feed_unavailable'],
});
