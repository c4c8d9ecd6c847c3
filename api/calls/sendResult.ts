import { isRecord } from '../../schemas/isRecord.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import { prefersRaw } from '../http/accept.ts';
import type { Context } from '../http/context.ts';

const EXTENSIONS: Record<string, string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'application/pdf': 'pdf',
};

/** Converts the name of an output field to the form used in header names: `mimeType` becomes `Mime-Type`. */
export const kebab = (field: string): string => {
  const words = field.replace(/[A-Z]/g, (letter) => `-${letter}`);
  return words.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
};

/**
 * Returns the file name for clients that do not support `filename*` (RFC 6266, section 4.3). Only ASCII, because
 * these clients differ in how they decode Latin-1 bytes.
 */
const asciiName = (name: string): string => name.replace(/[^ -~]/gu, '_');

/**
 * Sends the output of a tool: either the stored JSON, byte for byte, or the bytes of its file if the Accept header
 * ranks the file's type above JSON. If the file is sent, the other output fields are sent as headers.
 */
export function sendResult(ctx: Context, tool: ToolDefinition, json: string | Buffer): void {
  ctx.status = 200;
  ctx.vary('Accept');
  if (tool.raw !== undefined && sendRaw(ctx, tool, tool.raw, json)) return;
  ctx.body = json;
  ctx.type = 'application/json';
}

function sendRaw(
  ctx: Context,
  tool: ToolDefinition,
  raw: NonNullable<ToolDefinition['raw']>,
  json: string | Buffer,
): boolean {
  const accept = ctx.get('Accept');
  // Returns early, to avoid parsing a large result that is sent unchanged.
  if (accept === '' || accept === '*/*') return false;
  const output: unknown = JSON.parse(json.toString());
  if (!isRecord(output)) return false;
  const mimeType = String(output[raw.mimeType]);
  if (!prefersRaw(accept, mimeType)) return false;
  for (const [field, value] of Object.entries(output)) {
    if (field === raw.data) continue;
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    ctx.set(`X-Result-${kebab(field)}`, encodeURIComponent(text.toWellFormed()));
  }
  const named = raw.fileName === undefined ? undefined : output[raw.fileName];
  const name = typeof named === 'string' ? named : `${tool.name}.${EXTENSIONS[mimeType] ?? 'bin'}`;
  ctx.attachment(name, { type: 'inline', fallback: asciiName(name) });
  ctx.body = Buffer.from(String(output[raw.data]), 'base64');
  ctx.type = mimeType;
  return true;
}
