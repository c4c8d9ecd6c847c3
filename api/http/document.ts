import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Context } from './context.ts';

const compress = promisify(gzip);

/** A static document that is served over HTTP. */
export interface Document {
  type: string;
  body: Buffer;
  etag: string;
  /** The compressed body; null until it is first requested. */
  gzipped: Promise<Buffer> | null;
}

/** Creates a document from its content. @param type media type, with its charset */
export function createDocument(type: string, content: string | Buffer): Document {
  const body = Buffer.from(content);
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  return { type, body, etag, gzipped: null };
}

/**
 * Sends the document, compressed if the client accepts gzip, or 304 if the client has a current copy. Clients must
 * revalidate their copies.
 */
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
