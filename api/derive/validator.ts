import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { type Fault, invalidInput } from '../../schemas/errors.ts';
import { escapePointer } from '../../schemas/formats/pointer.ts';
import type { ObjectSchema } from '../../schemas/tool.ts';

/** Fills in defaults and answers the value. @throws ServiceError invalid_input with every fault */
export type Validate<T = Record<string, unknown>> = (value: Record<string, unknown>) => T;

/** A fault in words that name the place and the rule, never the value: it may be a secret. */
function asFault({ keyword, instancePath, message, params }: ErrorObject): Fault {
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
    case 'format':
      if (params.format !== 'well-formed') break;
      return { pointer: instancePath, message: 'holds a lone surrogate, which UTF-8 cannot carry' };
    case 'enum':
      return { pointer: instancePath, message: `must be one of ${[params.allowedValues].flat().join(', ')}` };
  }
  return { pointer: instancePath, message: message ?? 'is invalid' };
}

/** Compiles validators that report all faults at once, apply defaults and never coerce. `T` is the schema's own type. */
export function createValidator(): <T = Record<string, unknown>>(schema: ObjectSchema) => Validate<T> {
  const ajv = new Ajv2020({ allErrors: true, useDefaults: true, strict: true, strictTypes: false });
  addFormats.default(ajv);
  // JSON can spell half a surrogate pair, which no bytes can carry; a pattern for that would not be read everywhere.
  ajv.addFormat('well-formed', (text) => text.isWellFormed());
  return <T>(schema: ObjectSchema) => {
    const check = ajv.compile<T>(schema);
    return (value) => {
      if (!check(value)) throw invalidInput((check.errors ?? []).map(asFault));
      return value;
    };
  };
}
