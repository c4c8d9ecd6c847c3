import {
  account,
  call,
  delivery,
  event,
  key,
  keyChangeBody,
  keyRotationBody,
  ledgerEntry,
  newKey,
  newKeyBody,
} from '../../schemas/accountRows.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import {
  attempt,
  newWebhook,
  newWebhookBody,
  resendBody,
  resent,
  rotateBody,
  rotatedSecret,
  webhook,
  webhookChangeBody,
} from '../../schemas/webhookRows.ts';

type Json = Record<string, unknown>;

/** Schemas that the document shares, by their names in `components.schemas`, from which generators name classes. */
const NAMED: Readonly<Record<string, object>> = {
  Account: account,
  Call: call,
  LedgerEntry: ledgerEntry,
  ApiKey: key,
  NewApiKey: newKey,
  NewApiKeyInput: newKeyBody,
  ApiKeyChange: keyChangeBody,
  ApiKeyRotation: keyRotationBody,
  Event: event,
  Delivery: delivery,
  WebhookEndpoint: webhook,
  NewWebhookEndpoint: newWebhook,
  NewWebhookEndpointInput: newWebhookBody,
  WebhookEndpointChange: webhookChangeBody,
  DeliveryAttempt: attempt,
  SecretRotation: rotateBody,
  RotatedSecret: rotatedSecret,
  ResendRequest: resendBody,
  ResendResult: resent,
};
/** The names of the shared schemas. */
export const namedSchemas: ReadonlyMap<unknown, string> = new Map(
  Object.entries(NAMED).map(([name, schema]) => [schema, name]),
);

const isStringList = (schema: unknown): boolean =>
  isRecord(schema) && schema.type === 'array' && isRecord(schema.items) && schema.items.type === 'string';

/** True for a schema of values that are a string or an array of strings. */
function isStringOrList({ type, oneOf }: Json): boolean {
  if (Array.isArray(type)) return type.includes('string') && type.includes('array');
  return (
    Array.isArray(oneOf) &&
    oneOf.length === 2 &&
    oneOf.some((part) => isRecord(part) && part.type === 'string') &&
    oneOf.some(isStringList)
  );
}

/** Rewrites the subschemas of a schema. */
const rewriteParts = (schema: Json): Json =>
  Object.fromEntries(
    Object.entries(schema)
      // `default: null` is omitted: it carries no information, and generators assign it to fields that are not nullable.
      .filter(([keyword, value]) => keyword !== 'default' || value !== null)
      .map(([keyword, value]) => [keyword, forGenerators(value)]),
  );

/**
 * Rewrites a schema for the document: shared schemas become references, and constructs for which generators create code
 * that does not compile are simplified. Validation uses the original schema.
 */
export function forGenerators(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(forGenerators);
  if (!isRecord(schema)) return schema;
  const name = namedSchemas.get(schema);
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  // Generators of Go and Java cannot express a union of a string and a list.
  if (isStringOrList(schema))
    return { description: schema.description ?? 'A string or an array of strings.' };
  return rewriteParts(schema);
}

/** The shared schemas, for `components.schemas`. */
export const sharedSchemas = (): Json =>
  Object.fromEntries(Object.entries(NAMED).map(([name, schema]) => [name, rewriteParts({ ...schema })]));
