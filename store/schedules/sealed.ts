import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { Difference, ScheduleTarget } from '../../schemas/schedules.ts';
import type { ScheduleDoc } from './scheduleDocs.ts';

const PURPOSE = 'result';

/** What is compared of a result. */
export interface Snapshot {
  /** SHA-256 of all lines, in hexadecimal. */
  sha256: string;
  /** The lines, as far as they fit. */
  lines: string[];
}

/** A kind of value that is stored encrypted, with its context. */
interface Sealed<T> {
  seal(keyring: Keyring, id: string, value: T): string;
  /** @throws if the key is gone */
  open(keyring: Keyring, id: string, sealed: string): T;
  /** Encrypts a value again with the current key; returns null if that is its key. */
  rewrap(keyring: Keyring, id: string, sealed: string): string | null;
}

function sealedAs<T extends object>(kind: string): Sealed<T> {
  const context = (id: string): string => `${id}:${kind}`;
  const sealBytes = (keyring: Keyring, id: string, plain: Buffer): string =>
    keyring.seal(PURPOSE, context(id), plain).toString('base64');
  const openBytes = (keyring: Keyring, id: string, sealed: string): Buffer =>
    keyring.open(PURPOSE, context(id), Buffer.from(sealed, 'base64'));
  return {
    seal: (keyring, id, value) => sealBytes(keyring, id, Buffer.from(JSON.stringify(value))),
    open: (keyring, id, sealed) => JSON.parse(openBytes(keyring, id, sealed).toString()),
    rewrap: (keyring, id, sealed) =>
      keyring.keyIdOf(Buffer.from(sealed, 'base64')) === keyring.currentId
        ? null
        : sealBytes(keyring, id, openBytes(keyring, id, sealed)),
  };
}

type Job = Extract<ScheduleTarget, { job: unknown }>;
type Batch = Extract<ScheduleTarget, { batch: unknown }>['batch'];

/** What a run of a schedule creates, without the inputs of a batch. */
export const sealedTarget = sealedAs<Job | { batch: Omit<Batch, 'inputs'> & { rows: number } }>('target');
/** The inputs of a batch. They are apart because they can be large, and lists of schedules do not show them. */
export const sealedInputs = sealedAs<Batch['inputs']>('inputs');

/** Encrypts what a run of a schedule creates. */
export function sealTarget(
  keyring: Keyring,
  id: string,
  target: ScheduleTarget,
): Pick<ScheduleDoc, 'kind' | 'sealedTarget' | 'sealedInputs'> {
  if ('job' in target)
    return { kind: 'job', sealedTarget: sealedTarget.seal(keyring, id, target), sealedInputs: null };
  const { inputs, ...options } = target.batch;
  return {
    kind: 'batch',
    sealedTarget: sealedTarget.seal(keyring, id, { batch: { ...options, rows: inputs.length } }),
    sealedInputs: sealedInputs.seal(keyring, id, inputs),
  };
}

/** Decrypts what a run of a schedule creates. @throws if the key is gone */
export function openTarget(keyring: Keyring, schedule: ScheduleDoc): ScheduleTarget {
  const { _id, sealedTarget: sealed, sealedInputs: inputs } = schedule;
  const target = sealedTarget.open(keyring, _id, sealed);
  if ('job' in target) return target;
  const { rows: _rows, ...options } = target.batch;
  return { batch: { ...options, inputs: inputs === null ? [] : sealedInputs.open(keyring, _id, inputs) } };
}
/** The result of the last run of a schedule, as far as it is compared. */
export const sealedSnapshot = sealedAs<Snapshot>('snapshot');
/** The difference of the result of a run. */
export const sealedDifference = sealedAs<Difference>('difference');
/** The data of a callback. */
export const sealedData = sealedAs<Record<string, unknown>>('callback');
