import { account, call } from './accountRows.ts';
import { listOf, PAGE } from './lists.ts';
import type { ObjectSchema } from './tool.ts';

/** A tool of the MCP endpoint that reads the caller's own account. Calling it costs no credits. */
export interface AccountToolDefinition<
  I extends ObjectSchema = ObjectSchema,
  O extends ObjectSchema = ObjectSchema,
> {
  name: string;
  title: string;
  description: string;
  input: I;
  output: O;
}

const define = <const I extends ObjectSchema, const O extends ObjectSchema>(
  definition: AccountToolDefinition<I, O>,
): AccountToolDefinition<I, O> => definition;

export const accountBalance = define({
  name: 'account-balance',
  title: 'Account balance',
  description: 'Returns the balance of the account and its reserved and available credits.',
  input: { type: 'object', properties: {}, required: [], additionalProperties: false },
  output: account,
});

export const accountCalls = define({
  name: 'account-calls',
  title: 'Recent calls',
  description: 'Lists the calls of the account, newest first, with their price, state and error code.',
  input: {
    type: 'object',
    properties: {
      tool: { type: 'string', maxLength: 100, description: 'Only calls of this tool.' },
      state: { ...call.properties.state, description: 'Only calls in this state.' },
      ...PAGE,
    },
    required: [],
    additionalProperties: false,
  },
  output: listOf(call),
});

export const accountPlan = define({
  name: 'account-plan',
  title: 'Price of planned calls',
  description:
    'Returns the total price of planned calls, and whether the available credits pay for them. Runs no tool and reserves no credits.',
  input: {
    type: 'object',
    properties: {
      calls: {
        type: 'array',
        minItems: 1,
        maxItems: 100,
        items: {
          type: 'object',
          properties: {
            tool: { type: 'string', maxLength: 100, description: 'Name of the tool.' },
            count: { type: 'integer', minimum: 1, maximum: 1_000_000, description: 'Number of calls.' },
          },
          required: ['tool', 'count'],
          additionalProperties: false,
        },
        description: 'The planned calls.',
      },
    },
    required: ['calls'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      price: {
        type: 'integer',
        description: 'Maximum total price in credits, charged if every call returns a result.',
      },
      available: { type: 'integer', description: 'Credits that the account can spend now.' },
      sufficient: {
        type: 'boolean',
        description: 'Whether the available credits cover all calls of the plan.',
      },
    },
    required: ['price', 'available', 'sufficient'],
    additionalProperties: false,
  },
});

export const ACCOUNT_TOOLS: readonly AccountToolDefinition[] = [accountBalance, accountCalls, accountPlan];
