import { batch, MAX_ROWS } from './batches.ts';

const { id, state, counts, credits, resultsUrl, manifestUrl } = batch.properties;

/** The tool of the MCP endpoint that runs a batch. Its calls are always tasks. */
export const runBatch = {
  name: 'run-batch',
  title: 'Run a batch',
  description:
    'Calls one tool for each of many inputs, as a task. Its result has the numbers of rows and the first results.\n\n' +
    'Price: that of the tool for each input that returns a result.',
  input: {
    type: 'object',
    properties: {
      tool: {
        type: 'string',
        maxLength: 100,
        description: 'Name of the tool. Tools that take secrets are refused.',
      },
      inputs: {
        type: 'array',
        items: { type: 'object', additionalProperties: true },
        minItems: 1,
        maxItems: MAX_ROWS,
        description: 'Inputs of the tool.',
      },
    },
    required: ['tool', 'inputs'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      id,
      state,
      counts,
      credits,
      resultsUrl,
      manifestUrl,
      results: {
        type: 'array',
        items: { type: 'object', additionalProperties: true },
        description: 'The first rows, as `resultsUrl` has them; at most 100 KB.',
      },
      hasMoreResults: { type: 'boolean', description: 'Whether `results` does not have all rows.' },
    },
    required: [
      ...['id', 'state', 'counts', 'credits', 'resultsUrl', 'manifestUrl'],
      ...['results', 'hasMoreResults'],
    ],
    additionalProperties: false,
  },
} as const;
