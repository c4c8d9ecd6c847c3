import type { Operation } from './operation.ts';
import { POOLS } from './pools.ts';

/** Reference section of the operations that need no API key. */
const TAG = 'Service';

const tool = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'Name of the tool: the path segment after `/api/v1/tools/`.' },
    title: { type: 'string', description: 'Title of the tool.' },
    description: { type: 'string', description: 'Description in Markdown.' },
    price: { type: 'integer', description: 'Price of a call in credits.' },
    pool: { type: 'string', enum: POOLS, description: 'Pool of workers that runs calls of the tool.' },
    input: {
      type: 'object',
      additionalProperties: true,
      description: 'JSON Schema (2020-12) of the request body.',
    },
    output: {
      type: 'object',
      additionalProperties: true,
      description: 'JSON Schema (2020-12) of the response.',
    },
  },
  required: ['name', 'title', 'description', 'price', 'pool', 'input', 'output'],
  additionalProperties: false,
} as const;

const listTools = {
  id: 'listTools',
  method: 'get',
  path: '/api/v1/tools',
  summary: 'List tools with prices and schemas',
  tag: TAG,
  auth: 'none',
  success: {
    status: 200,
    schema: {
      type: 'object',
      properties: { items: { type: 'array', items: tool, description: 'All tools in alphabetical order.' } },
      required: ['items'],
      additionalProperties: false,
    },
  },
  errors: [],
} as const satisfies Operation;

const getLiveness = {
  id: 'getLiveness',
  method: 'get',
  path: '/livez',
  summary: 'Check that the API process is running',
  tag: TAG,
  auth: 'none',
  success: {
    status: 200,
    schema: {
      type: 'object',
      properties: { status: { type: 'string', const: 'ok', description: 'Always `ok`.' } },
      required: ['status'],
      additionalProperties: false,
    },
  },
  errors: [],
} as const satisfies Operation;

export const META_OPERATIONS: readonly Operation[] = [listTools, getLiveness];
