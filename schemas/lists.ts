import type { ObjectSchema } from './tool.ts';

/** Query parameters of every list. */
export const PAGE = {
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: 100,
    default: 20,
    description: 'Maximum number of rows.',
  },
  cursor: {
    type: 'string',
    description: '`nextCursor` of the previous page (opaque). Default: the first page.',
  },
} as const;

/** A page of rows, newest first. */
export const listOf = <const S extends ObjectSchema>(row: S) =>
  ({
    type: 'object',
    properties: {
      items: { type: 'array', items: row, description: 'Rows, newest first.' },
      nextCursor: {
        type: ['string', 'null'],
        description: 'Cursor of the next page; null on the last page.',
      },
    },
    required: ['items', 'nextCursor'],
    additionalProperties: false,
  }) as const;
