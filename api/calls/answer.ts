import type { ServerResponse } from 'node:http';
import { suggestedName } from '../../schemas/formats/fileType.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import type { ReusedResult } from '../../store/calls/callDocs.ts';
import { prefersRaw } from '../http/accept.ts';
import type { Context } from '../http/context.ts';
import { sendProblem } from '../http/problem.ts';
import type { Answer } from './toolCall.ts';

/**
 * Builds the response to a call and records how it ended. If building fails, the call is refunded. Every response emits
 * `close`. The result counts as delivered only if `finish` came before it: Node.js emits `finish` when the operating
 * system has taken the last byte, and not on a connection that was closed or reset before, whichever side did it.
 *
 * @throws what `build` throws
 */
export async function deliver(
  response: ServerResponse,
  answer: Answer,
  build: () => void | Promise<void>,
): Promise<void> {
  if (!('output' in answer.ending)) return build();
  try {
    await build();
  } catch (fault) {
    await answer.undelivered(fault);
    throw fault;
  }
  // Must not refer to the answer, which would keep the stored result in memory beside the response until its end.
  const { ended } = answer;
  const onClose = () => ended(response.writableFinished);
  if (response.closed) onClose();
  else response.once('close', onClose);
}

/** The age of a result in whole seconds, as the header `Age` has it (RFC 9111, section 5.1). */
export const ageOf = ({ madeAt }: ReusedResult): number =>
  Math.max(0, Math.floor((Date.now() - madeAt.getTime()) / 1000));

/**
 * Builds the response of the HTTP API. The body of a result is either the stored JSON, byte for byte, or the bytes of its file
 * if the Accept header ranks the file's type above JSON.
 */
export function respond(
  ctx: Context,
  tool: Pick<ToolDefinition, 'name' | 'raw'>,
  answer: Pick<Answer, 'ending' | 'available' | 'replayed' | 'charged' | 'reused' | 'requestId'>,
): void {
  const { ending, available, replayed, charged, reused } = answer;
  ctx.set('X-Credits-Charged', String(charged));
  if (available !== null) ctx.set('X-Credits-Remaining', String(available));
  if (replayed) ctx.set('Idempotent-Replayed', 'true');
  if (reused !== null) {
    ctx.set('Age', String(ageOf(reused)));
    ctx.set('X-Result-From', reused.callId);
  }
  if ('error' in ending) {
    sendProblem(ctx, ending.error, answer.requestId);
    return;
  }
  ctx.status = 200;
  ctx.vary('Accept');
  if (tool.raw !== undefined && sendRaw(ctx, tool, tool.raw, ending.output)) return;
  ctx.body = ending.output;
  ctx.type = 'application/json';
}

/** Converts the name of an output field to the form used in header names: `mimeType` becomes `Mime-Type`. */
export const kebab = (field: string): string => {
  const words = field.replace(/[A-Z]/g, (letter) => `-${letter}`);
  return words.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
};

/**
 * Returns the file name for clients that do not support `filename*` (RFC 6266, section 4.3). Only ASCII, because
 * these clients differ in how they decode Latin-1 bytes.
 */
export const asciiName = (name: string): string => name.replace(/[^ -~]/gu, '_');

/** Sends the file of a result, and its other output fields as headers. @returns false if the caller prefers JSON */
function sendRaw(
  ctx: Context,
  tool: Pick<ToolDefinition, 'name'>,
  raw: NonNullable<ToolDefinition['raw']>,
  json: string | Buffer,
): boolean {
  const accept = ctx.get('Accept');
  // Returns early, to avoid parsing a large result that is sent unchanged.
  if (accept === '' || accept === '*/*') return false;
  const output: unknown = JSON.parse(json.toString());
  if (!isRecord(output)) return false;
  const mimeType = String(output[raw.mimeType]);
  const data = output[raw.data];
  // The caller has asked for the address of the file instead.
  if (typeof data !== 'string' || !prefersRaw(accept, mimeType)) return false;
  for (const [field, value] of Object.entries(output)) {
    if (field === raw.data || raw.jsonOnly?.includes(field) === true) continue;
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    ctx.set(`X-Result-${kebab(field)}`, encodeURIComponent(text.toWellFormed()));
  }
  const named = raw.fileName === undefined ? undefined : output[raw.fileName];
  const name = typeof named === 'string' ? named : suggestedName(tool.name, mimeType);
  ctx.attachment(name, { type: 'inline', fallback: asciiName(name) });
  ctx.body = Buffer.from(data, 'base64');
  ctx.type = mimeType;
  return true;
}
