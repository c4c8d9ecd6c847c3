import type { Payload, PayloadCodec, SerializationContext } from '@temporalio/common';
import proto from '@temporalio/proto';
import type { Keyring } from '../secrets/keyring.ts';

const ENCODING = 'binary/encrypted';
const { Payload: PayloadProto } = proto.temporal.api.common.v1;

const text = (bytes: Uint8Array | null | undefined): string => Buffer.from(bytes ?? []).toString('utf8');

/**
 * Removes the time that a Temporal schedule appends to a workflow id. The ids of payloads are compared without it, because
 * arguments of scheduled workflows are encrypted before the time is known, and each run receives the previous run's result.
 */
const withoutScheduleTime = (workflowId: string): string =>
  workflowId.replace(/-\d{4}-\d\d-\d\dT[\d:]+Z$/, '');

/**
 * Creates the codec that encrypts every payload, including its metadata. The workflow id is authenticated together with the
 * payload, so that a payload cannot be moved to another workflow. Without a workflow context, as in the codec endpoint, the
 * id in the payload's metadata is trusted.
 */
export function createCodec(keyring: Keyring): PayloadCodec {
  return {
    async encode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
      const owner = context?.workflowId ?? '';
      return payloads.map((payload) => ({
        metadata: {
          encoding: Buffer.from(ENCODING),
          'encryption-key-id': Buffer.from(keyring.currentId),
          owner: Buffer.from(owner),
        },
        data: keyring.seal('temporal-payload', owner, PayloadProto.encode(payload).finish()),
      }));
    },

    async decode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
      return payloads.map((payload) => {
        if (text(payload.metadata?.encoding) !== ENCODING) return payload;
        const owner = text(payload.metadata?.owner);
        if (
          owner !== '' &&
          context?.workflowId !== undefined &&
          withoutScheduleTime(owner) !== withoutScheduleTime(context.workflowId)
        )
          throw new Error('payload belongs to another workflow');
        const plain = keyring.open('temporal-payload', owner, payload.data ?? new Uint8Array());
        return PayloadProto.decode(plain);
      });
    },
  };
}
