import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { type Fault, invalidInput, MAX_FAULTS } from '../../schemas/errors.ts';
import { escapePointer } from '../../schemas/formats/pointer.ts';
import type { ObjectSchema } from '../../schemas/tool.ts';
import { loneSurrogates } from './loneSurrogates.ts';

/** Fills in defaults and answers the value. @throws ServiceError invalid_input with the faults (see `invalidInput`) */
export type Validate<T = Record<string, unknown>> = (value: Record<string, unknown>) => T;

/** How many of what there must be, in words: `at least 1 item`. */
const atLeast = (limit: unknown, what: string): string =>
  `must have at least ${limit} ${what}${limit === 1 ? '' : 's'}`;
const atMost = (limit: unknown, what: string): string =>
  `must have at most ${limit} ${what}${limit === 1 ? '' : 's'}`;

const FORMATS: Record<string, string> = {
  'date-time': 'must be a time such as 2026-12-31T23:59:59Z',
};

/** A type of JSON Schema with its article. */
const typeName = (type: string): string =>
  type === 'null' ? type : `${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`;

/** What a keyword asks for, in words that never repeat the value: it may be a secret. */
function ruleOf({ keyword, message, params }: ErrorObject, description: string | undefined): string {
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
      return 'must not have the same item twice';
    case 'minProperties':
      return atLeast(params.limit, 'field');
    case 'maxProperties':
      return atMost(params.limit, 'field');
    case 'format':
      return FORMATS[params.format] ?? 'does not have the right form';
    // Programs read a pattern in the schema; people read what is said of it there.
    case 'pattern':
      return ['does not have the right form', description].filter(Boolean).join('. ');
    case 'anyOf':
    case 'oneOf':
      return 'must have one of the forms that are described';
  }
  return message ?? 'is invalid';
}

/** A fault in words that name the place and the rule. */
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
  return { pointer: instancePath, message: ruleOf(error, properties[field]?.description) };
}

/**
 * Compiles validators that find all faults, apply defaults and never coerce; lone surrogates are faults
 * everywhere. `T` is the schema's own type.
 */
export function createValidator(): <T = Record<string, unknown>>(
  schema: ObjectSchema,
  /** The faults of a value that meets the schema. */
  more?: (value: T) => Fault[],
) => Validate<T> {
  const ajv = new Ajv2020({ allErrors: true, useDefaults: true, strict: true, strictTypes: false });
  addFormats.default(ajv);
  return <T>(schema: ObjectSchema, more?: (value: T) => Fault[]) => {
    const check = ajv.compile<T>(schema);
    return (value) => {
      const faults = loneSurrogates(value);
      if (!check(value)) {
        const errors = check.errors ?? [];
        // Only the errors that are told are put into words: of a large input there are thousands.
        const told = errors.slice(0, MAX_FAULTS).map((error) => asFault(error, schema));
        throw invalidInput([...told, ...faults], errors.length - told.length);
      }
      faults.push(...(more?.(value) ?? []));
      if (faults.length > 0) throw invalidInput(faults);
      return value;
    };
  };
}
