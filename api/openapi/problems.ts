import { MAX_BAD_ROWS } from '../../schemas/batches.ts';
import {
  ERRORS,
  type ErrorCode,
  isErrorCode,
  MAX_FAULTS,
  type ProblemMembers,
  ServiceError,
} from '../../schemas/errors.ts';
import { problemBody } from '../http/problem.ts';
import { COMMON_HEADERS, headerRefs } from './headers.ts';

type Json = Record<string, unknown>;

const REQUEST_ID = 'req_8f14e45f-ceea-467f-a0e6-5b4c8e0f1a2b';

/** All codes, in the order of the table. */
export const CODES: readonly ErrorCode[] = Object.keys(ERRORS).filter(isErrorCode);

const MEMBERS: Partial<Record<ErrorCode, ProblemMembers>> = {
  invalid_input: { errors: [{ pointer: '/text', message: 'is required' }] },
  insufficient_credits: { available: 1, cost: 2 },
  key_budget_exceeded: {
    cost: 2,
    budget: { period: 'day', credits: 100, spent: 99, resetsAt: '2026-12-01T00:00:00.000Z' },
  },
};

/** An example body for each of the codes, for `components.examples`. */
export const problemExamples = (codes: Iterable<ErrorCode>): Json =>
  Object.fromEntries(
    [...codes].map((code) => {
      const value = problemBody(new ServiceError(code, MEMBERS[code]), REQUEST_ID);
      return [code, { summary: ERRORS[code].title, value }];
    }),
  );

/** Schema of every error response: RFC 9457 with additional members. */
export const PROBLEM_SCHEMA = {
  type: 'object',
  description: 'An error (RFC 9457). Branch on `code`; its meaning is stable.',
  properties: {
    type: {
      type: 'string',
      format: 'uri-reference',
      description: 'URL of the explanation of the error code.',
    },
    title: { type: 'string', description: 'Kind of error in words.' },
    status: { type: 'integer', description: 'HTTP status code, the same as in the response.' },
    detail: { type: 'string', description: 'Description of this occurrence.' },
    code: { type: 'string', enum: CODES, description: 'Stable code of the kind of error.' },
    requestId: {
      type: 'string',
      description: 'Id of the request, by which the dashboard and the log of the service find the call.',
    },
    errors: {
      type: 'array',
      description: `Only with \`invalid_input\`: the faults of the input, at most ${MAX_FAULTS}, or the bad rows of a batch, at most ${MAX_BAD_ROWS}. Long messages are truncated.`,
      maxItems: MAX_BAD_ROWS,
      items: {
        type: 'object',
        properties: {
          pointer: {
            type: 'string',
            description: 'JSON Pointer (RFC 6901) into the request body, or the name of a query parameter.',
          },
          message: { type: 'string', description: 'Description of the fault.' },
        },
        required: ['pointer', 'message'],
        additionalProperties: false,
      },
    },
    moreErrors: {
      type: 'integer',
      minimum: 1,
      description: 'Only with `invalid_input`: how many more faults there are than `errors` lists.',
    },
    available: {
      type: 'integer',
      description: 'Only with `insufficient_credits`: credits that can be spent.',
    },
    cost: {
      type: 'integer',
      description: 'Only with `insufficient_credits` and `key_budget_exceeded`: credits the call costs.',
    },
    budget: {
      type: 'object',
      description: 'Only with `key_budget_exceeded`: the budget that the call would exceed.',
      properties: {
        period: { type: 'string', enum: ['day', 'month'], description: 'Period of the budget (UTC).' },
        credits: { type: 'integer', description: 'Credits of the budget.' },
        spent: {
          type: 'integer',
          description: 'Credits charged or reserved for calls with the key in the period.',
        },
        resetsAt: { type: 'string', format: 'date-time', description: 'When the next period begins.' },
      },
      required: ['period', 'credits', 'spent', 'resetsAt'],
      additionalProperties: false,
    },
  },
  required: ['type', 'title', 'status', 'detail', 'code', 'requestId'],
  additionalProperties: false,
} as const;

/** `invalid_input` -> `InvalidInput` */
const pascal = (code: string): string =>
  code.replaceAll(/(?:^|_)(\w)/g, (_all, letter) => letter.toUpperCase());

/** Codes that occur together, with one name, which keeps the names of schemas and responses short. */
const GROUPS: readonly { name: string; codes: readonly ErrorCode[] }[] = [
  { name: 'InvalidRequest', codes: ['invalid_input', 'idempotency_key_mismatch'] },
  { name: 'InvalidTarget', codes: ['host_not_found', 'target_refused'] },
  {
    name: 'InvalidSource',
    codes: ['source_too_large', 'unsupported_source', 'corrupt_source', 'output_too_large'],
  },
];

/** Names a set of codes. The name depends only on the codes, whatever other operations there are. */
function nameOf(codes: readonly ErrorCode[]): string {
  const groups = GROUPS.filter((group) => group.codes.every((code) => codes.includes(code)));
  const others = codes.filter((code) => !groups.some((group) => group.codes.includes(code)));
  return [...groups.map(({ name }) => name), ...others.map(pascal)].join('Or');
}
const schemaName = (codes: readonly ErrorCode[]): string => `${nameOf(codes)}Problem`;
/** Responses of tool calls, which have more headers, start with `Call`. */
const responseName = (codes: readonly ErrorCode[], headers: readonly string[]): string =>
  (headers.includes('X-Credits-Cost') ? 'Call' : '') + nameOf(codes);

function problemResponse(codes: readonly ErrorCode[], headers: readonly string[]): Json {
  const names = [...headers];
  if (codes.some((code) => 'retryAfter' in ERRORS[code])) names.push('Retry-After');
  if (codes.some((code) => ERRORS[code].status === 401 || code === 'insufficient_credits'))
    names.push('WWW-Authenticate');
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].detail}`).join('\n\n'),
    headers: headerRefs(names),
    content: {
      'application/problem+json': {
        schema: { $ref: `#/components/schemas/${schemaName(codes)}` },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  };
}

/** The problem schema of a response that has only these codes. */
const problemSchema = (codes: readonly ErrorCode[]): Json => ({
  description: `An error with the code ${codes.map((code) => `\`${code}\``).join(', ')}.`,
  allOf: [
    { $ref: '#/components/schemas/Problem' },
    { type: 'object', properties: { code: { type: 'string', enum: codes } } },
  ],
});

/** Responses that operations share: one for each set of error codes and headers, with one schema for each set of codes. */
export interface SharedResponses {
  /** A reference to the response with these codes, which is created at the first use. */
  use(codes: readonly ErrorCode[], headers: readonly string[]): Json;
  /** All responses in use, for `components.responses`. */
  all(): Json;
  /** Their schemas, for `components.schemas`. */
  schemas(): Json;
}

/**
 * Creates an empty collection of shared responses, because generators create a class for each schema that is not
 * shared.
 */
export function createSharedResponses(): SharedResponses {
  const responses: Json = {};
  const schemas: Json = {};
  return {
    use(codes, headers) {
      const sorted = CODES.filter((code) => codes.includes(code));
      const name = responseName(sorted, headers);
      responses[name] ??= problemResponse(sorted, headers);
      schemas[schemaName(sorted)] ??= problemSchema(sorted);
      return { $ref: `#/components/responses/${name}` };
    },
    all: () => responses,
    schemas: () => schemas,
  };
}

/**
 * The error responses of an operation by status, as references.
 *
 * @param headers names in `components.headers` of the headers of authenticated responses
 */
export function problemResponses(
  codes: readonly ErrorCode[],
  headers: readonly string[],
  shared: SharedResponses,
): Json {
  const statuses = [...new Set(codes.map((code) => ERRORS[code].status))].sort((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => [
      String(status),
      shared.use(
        codes.filter((code) => ERRORS[code].status === status),
        status === 401 ? COMMON_HEADERS : headers,
      ),
    ]),
  );
}
