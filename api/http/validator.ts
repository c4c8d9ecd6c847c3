import { _, Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { type Fault, invalidInput, MAX_FAULTS } from '../../schemas/errors.ts';
import { escapePointer } from '../../schemas/formats/pointer.ts';
import type { ObjectSchema } from '../../schemas/tool.ts';
import { loneSurrogates } from './loneSurrogates.ts';

/**
 * Validates a value, fills in defaults and returns it. @throws ServiceError invalid_input with the faults (see
 * `invalidInput`)
 */
export type Validate<T = Record<string, unknown>> = (value: Record<string, unknown>) => T;

/** Formats a lower bound, as in `must have at least 1 item`. */
const atLeast = (limit: unknown, unit: string): string =>
  `must have at least ${limit} ${unit}${limit === 1 ? '' : 's'}`;
const atMost = (limit: unknown, unit: string): string =>
  `must have at most ${limit} ${unit}${limit === 1 ? '' : 's'}`;

const FORMATS: Record<string, string> = {
  'date-time': 'must be a time such as 2026-12-31T23:59:59Z',
};

/** Returns the name of a JSON Schema type with its article, as in `an integer`. */
const typeName = (type: string): string =>
  type === 'null' ? type : `${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`;

/** Describes the violated keyword of the schema. Never quotes the value, which may be a secret. */
function describeRule({ keyword, message, params }: ErrorObject, description: string | undefined): string {
  switch (keyword) {
    case 'enum':
      return `must be one of ${[params.allowedValues].flat().join(', ')}`;
    case 'type':
      return `must be ${[params.type].flat().map(typeName).join(' or ')}`;
    case 'minimum':
      return `must be at least ${params.limit}`;
    case 'maximum':
      return `must be at most ${params.limit}`;
    case 'minLength':
      return params.limit === 1 ? 'must not be empty' : atLeast(params.limit, 'character');
    case 'maxLength':
      return atMost(params.limit, 'character');
    case 'minItems':
      return atLeast(params.limit, 'item');
    case 'maxItems':
      return atMost(params.limit, 'item');
    case 'uniqueItems':
      return 'must not contain duplicates';
    case 'minProperties':
      return atLeast(params.limit, 'field');
    case 'maxProperties':
      return atMost(params.limit, 'field');
    case 'format':
      return FORMATS[params.format] ?? 'has an invalid format';
    // Regular expressions are hard to read, so the message has the description of the field, which explains the
    // pattern.
    case 'pattern':
      return ['has an invalid format', description].filter(Boolean).join('. ');
    case 'anyOf':
    case 'oneOf':
      return 'must match one of the described formats';
  }
  return message ?? 'is invalid';
}

/** Converts an error of ajv to a fault. */
function asFault(error: ErrorObject, { properties }: ObjectSchema): Fault {
  const { keyword, instancePath, params } = error;
  switch (keyword) {
    case 'required':
      return {
        pointer: `${instancePath}/${escapePointer(String(params.missingProperty))}`,
        message: 'is required',
      };
    case 'additionalProperties':
      return {
        pointer: `${instancePath}/${escapePointer(String(params.additionalProperty))}`,
        message: 'is not a known field',
      };
  }
  const [, field = ''] = instancePath.split('/');
  return { pointer: instancePath, message: describeRule(error, properties[field]?.description) };
}

/** Whether a text has more than `limit` code points. Counts them only if the length in UTF-16 code units does not decide. */
function isLonger(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  if (text.length > 2 * limit) return true;
  let codePoints = 0;
  for (const _codePoint of text) if (++codePoints > limit) return true;
  return false;
}

/**
 * Replaces ajv's keywords for the length of texts, which count all code points in JavaScript, with ones that mostly compare
 * the stored length. A text of 5 MB would take tens of milliseconds.
 */
function replaceLengths(ajv: Ajv2020): void {
  const rules = {
    maxLength: (limit: number, text: string) => !isLonger(text, limit),
    minLength: (limit: number, text: string) => limit === 0 || isLonger(text, limit - 1),
  };
  for (const [keyword, validate] of Object.entries(rules))
    ajv.removeKeyword(keyword).addKeyword({
      keyword,
      type: 'string',
      schemaType: 'number',
      before: 'pattern',
      validate,
      error: { message: 'has an invalid length', params: ({ schemaCode }) => _`{limit: ${schemaCode}}` },
    });
}

/**
 * Creates a function that compiles schemas to validators. They report all faults, apply defaults and never coerce
 * types. Lone surrogates are always faults. `T` is the type that the schema describes.
 */
export function createValidator(): <T = Record<string, unknown>>(
  schema: ObjectSchema,
  /** Checks that JSON Schema cannot express, for values that match the schema. */
  check?: (value: T) => Fault[],
) => Validate<T> {
  const ajv = new Ajv2020({
    allErrors: true,
    useDefaults: true,
    strict: true,
    strictTypes: false,
    // The schemas are constants, and tests validate them against the metaschema. Doing so at each start costs 0.6 s.
    validateSchema: false,
  });
  addFormats.default(ajv);
  replaceLengths(ajv);
  return <T>(schema: ObjectSchema, check?: (value: T) => Fault[]) => {
    const validate = ajv.compile<T>(schema);
    return (value) => {
      const faults = loneSurrogates(value);
      if (!validate(value)) {
        const errors = validate.errors ?? [];
        // A large input can have thousands of errors, of which only the reported ones are converted.
        const reported = errors.slice(0, MAX_FAULTS).map((error) => asFault(error, schema));
        throw invalidInput([...reported, ...faults], errors.length - reported.length);
      }
      faults.push(...(check?.(value) ?? []));
      if (faults.length > 0) throw invalidInput(faults);
      return value;
    };
  };
}
