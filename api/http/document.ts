import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Context } from './context.ts';

const compress = promisify(gzip);

/** An answer that is the same for everybody until the process is replaced. */
export interface Document {
  type: string;
  body: Buffer;
  etag: string;
  /** Compressed when it is first wanted. */
  gzipped: Promise<Buffer> | null;
}

/** @param type media type, with its charset */
export function createDocument(type: string, content: string | Buffer): Document {
  const body = Buffer.from(content);
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  return { type, body, etag, gzipped: null };
}

/** Sends it, compressed where that is taken, or 304 to who has it. It is asked for again each time, so never stale. */
export async function sendDocument(ctx: Context, document: Document): Promise<void> {
  ctx.status = 200;
  ctx.set({ ETag: document.etag, 'Cache-Control': 'public, no-cache' });
  ctx.vary('Accept-Encoding');
  ctx.type = document.type;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  if (ctx.acceptsEncodings('gzip', 'identity') !== 'gzip') {
    ctx.body = document.body;
    return;
  }
  document.gzipped ??= compress(document.body);
  ctx.set('Content-Encoding', 'gzip');
  ctx.body = await document.gzipped;
}
