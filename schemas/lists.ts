import type { ObjectSchema } from './tool.ts';

/** Query parameters of every list. */
export const PAGE = {
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: 100,
    default: 20,
    description: 'Rows a page may have.',
  },
  cursor: {
    type: 'string',
    description: '`nextCursor` of the page before; opaque. Left out: the first page.',
  },
} as const;

/** A page of rows, newest first. */
export const listOf = <const S extends ObjectSchema>(row: S) =>
  ({
    type: 'object',
    properties: {
      items: { type: 'array', items: row, description: 'Newest first.' },
      nextCursor: { type: ['string', 'null'], description: 'Gives the next page; null on the last one.' },
    },
    required: ['items', 'nextCursor'],
    additionalProperties: false,
  }) as const;
