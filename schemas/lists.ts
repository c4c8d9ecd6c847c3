import type { ObjectSchema } from './tool.ts';

/** Query parameters of every operation that returns a list. */
export const PAGE = {
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: 100,
    default: 20,
    description: 'Maximum number of rows in the response.',
  },
  cursor: {
    type: 'string',
    description: 'The `nextCursor` of the previous response, unchanged. Default: the first page.',
  },
} as const;

/** Response schema of a list: one page of rows, newest first. */
export const listOf = <const S extends ObjectSchema>(row: S) =>
  ({
    type: 'object',
    properties: {
      items: { type: 'array', items: row, description: 'Rows, newest first.' },
      nextCursor: {
        type: ['string', 'null'],
        description: 'Value of `cursor` for the next page; null on the last page.',
      },
    },
    required: ['items', 'nextCursor'],
    additionalProperties: false,
  }) as const;
