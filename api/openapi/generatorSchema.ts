import {
  accountDetails,
  call,
  delivery,
  event,
  key,
  keyChangeBody,
  keyRotationBody,
  ledgerEntry,
  newKey,
  newKeyBody,
  refusal,
} from '../../schemas/accountRows.ts';
import {
  batch,
  batchCallback,
  batchResend,
  manifest,
  newBatchBody,
  resumeBody,
} from '../../schemas/batches.ts';
import { file } from '../../schemas/files.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import {
  callbackAttempt,
  callbackRotation,
  callbackSecret,
  job,
  jobCallback,
  newJobBody,
} from '../../schemas/jobs.ts';
import { callReceipt } from '../../schemas/receipts.ts';
import {
  backfillBody,
  backfilled,
  newScheduleBody,
  schedule,
  scheduleCallback,
  scheduleChangeBody,
  scheduleResend,
  scheduleRun,
} from '../../schemas/schedules.ts';
import {
  attempt,
  eventKind,
  newWebhook,
  newWebhookBody,
  resendBody,
  resent,
  rotateBody,
  rotatedSecret,
  testBody,
  webhook,
  webhookChangeBody,
} from '../../schemas/webhookRows.ts';

type Json = Record<string, unknown>;

/**
 * Shared schemas by their names in `components.schemas`, from which generators derive the names of classes. No name may be
 * `New` followed by another name: a Go generator calls the other class's constructor so. No schema may have a property of
 * its own name: a Python generator would declare one variable twice.
 */
const NAMED: Readonly<Record<string, object>> = {
  Account: accountDetails,
  Call: call,
  RefusedRequests: refusal,
  CallReceipt: callReceipt,
  LedgerEntry: ledgerEntry,
  ApiKey: key,
  CreatedApiKey: newKey,
  CreateApiKeyInput: newKeyBody,
  ApiKeyChange: keyChangeBody,
  ApiKeyRotation: keyRotationBody,
  Job: job,
  CreateJobInput: newJobBody,
  JobCallbackEntry: jobCallback,
  CallbackAttempt: callbackAttempt,
  Batch: batch,
  CreateBatchInput: newBatchBody,
  BatchResumption: resumeBody,
  BatchManifest: manifest,
  BatchCallback: batchCallback,
  BatchResend: batchResend,
  UploadedFile: file,
  Schedule: schedule,
  CreateScheduleInput: newScheduleBody,
  ScheduleChange: scheduleChangeBody,
  ScheduleRun: scheduleRun,
  ScheduleBackfill: backfillBody,
  ScheduleBackfillResult: backfilled,
  ScheduleCallback: scheduleCallback,
  ScheduleResend: scheduleResend,
  CallbackSecret: callbackSecret,
  CallbackRotation: callbackRotation,
  AccountEvent: event,
  Delivery: delivery,
  WebhookEndpoint: webhook,
  CreatedWebhookEndpoint: newWebhook,
  CreateWebhookEndpointInput: newWebhookBody,
  WebhookEndpointChange: webhookChangeBody,
  DeliveryAttempt: attempt,
  WebhookTest: testBody,
  SecretRotation: rotateBody,
  RotatedSecret: rotatedSecret,
  ResendRequest: resendBody,
  ResendResult: resent,
};
/** Schemas of values that the document shares, because a generator of Java cannot express a set of an unnamed enumeration. */
const NAMED_VALUES: Readonly<Record<string, object>> = { EventKind: eventKind };
/** The names of the shared schemas of objects. */
export const namedSchemas: ReadonlyMap<unknown, string> = new Map(
  Object.entries(NAMED).map(([name, schema]) => [schema, name]),
);

const documentSchemas: ReadonlyMap<unknown, string> = new Map(
  Object.entries({ ...NAMED, ...NAMED_VALUES }).map(([name, schema]) => [schema, name]),
);

const isStringList = (schema: unknown): boolean =>
  isRecord(schema) && schema.type === 'array' && isRecord(schema.items) && schema.items.type === 'string';

/** True for a schema of values that are a string or, instead, a list of strings or an object. */
function isStringOrOther({ type, oneOf }: Json): boolean {
  if (Array.isArray(type)) return type.includes('string') && type.includes('array');
  return (
    Array.isArray(oneOf) &&
    oneOf.length === 2 &&
    oneOf.some((part) => isRecord(part) && part.type === 'string') &&
    oneOf.some((part) => isStringList(part) || (isRecord(part) && part.type === 'object'))
  );
}

/** Names for the values of an enumeration, if generators would give two of them the same name, such as "A" and "A+". */
function enumNames({ enum: values }: Json): Json {
  if (!Array.isArray(values) || !values.some((value) => values.includes(`${value}+`))) return {};
  const nameOf = (value: unknown) => String(value).replace(/\+$/, '_PLUS').replaceAll(/\W+/g, '_');
  return { 'x-enum-varnames': values.map(nameOf) };
}

const rewriteParts = (schema: Json): Json => ({
  ...Object.fromEntries(
    Object.entries(schema)
      // `default: null` is omitted: it carries no information, and generators assign it to fields that are not nullable.
      .filter(([keyword, value]) => keyword !== 'default' || value !== null)
      .map(([keyword, value]) => [keyword, forGenerators(value)]),
  ),
  ...enumNames(schema),
});

/**
 * Rewrites a schema for the document: shared schemas become references, and constructs for which generators create code
 * that does not compile are simplified. Validation uses the original schema.
 */
export function forGenerators(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(forGenerators);
  if (!isRecord(schema)) return schema;
  const name = documentSchemas.get(schema);
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  // Generators of Go and Java cannot express such a union.
  if (isStringOrOther(schema))
    return { description: schema.description ?? 'A string or an array of strings.' };
  return rewriteParts(schema);
}

/** The shared schemas, for `components.schemas`. */
export const sharedSchemas = (): Json =>
  Object.fromEntries(
    Object.entries({ ...NAMED, ...NAMED_VALUES }).map(([name, schema]) => [
      name,
      rewriteParts({ ...schema }),
    ]),
  );
