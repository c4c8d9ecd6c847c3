import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Context } from './context.ts';

const brotli = promisify(brotliCompress);
/** Smaller than gzip in about the same time. */
const BROTLI_QUALITY = 6;

/** Content codings, the preferred one first. */
const CODINGS = {
  br: (body: Buffer) => brotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
  gzip: promisify<Buffer, Buffer>(gzip),
};
type Coding = keyof typeof CODINGS;
const PREFERRED: readonly Coding[] = ['br', 'gzip'];

/** A static document that is served over HTTP. */
export interface Document {
  type: string;
  body: Buffer;
  etag: string;
  /** The compressed bodies that were requested. */
  compressed: Partial<Record<Coding, Promise<Buffer>>>;
}

/** The bodies of all documents. */
const shared = new WeakSet<Buffer>();

/** Whether a response body is that of a document, which is held once for all clients. */
export const isShared = (body: unknown): boolean => Buffer.isBuffer(body) && shared.has(body);

function share(body: Buffer): Buffer {
  shared.add(body);
  return body;
}

/** Creates a document from its content. @param type media type, with its charset */
export function createDocument(type: string, content: string | Buffer): Document {
  const body = share(Buffer.from(content));
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  return { type, body, etag, compressed: {} };
}

/**
 * Sends the document, compressed if the client accepts that, or 304 if the client has a current copy. Clients must
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
  const coding = PREFERRED.find((it) => ctx.acceptsEncodings(it) === it);
  if (coding === undefined) {
    ctx.body = document.body;
    return;
  }
  document.compressed[coding] ??= CODINGS[coding](document.body).then(share);
  ctx.set('Content-Encoding', coding);
  ctx.body = await document.compressed[coding];
}
