import { Readable } from 'node:stream';
import type Router from '@koa/router';
import { ServiceError } from '../../schemas/errors.ts';
import { ResultGone } from '../../store/calls/results.ts';
import { LINKS_PATH, type LinkedFile, type Links } from '../../store/files/links.ts';
import { retryStore } from '../../store/mongo/retryStore.ts';
import { asciiName } from '../calls/answer.ts';
import type { Context, State } from '../http/context.ts';
import type { PageLimit } from '../http/pageLimit.ts';
import { createTransferLimit } from '../http/transferLimit.ts';
import { type ByteRange, readRange } from './byteRange.ts';

interface Dependencies {
  links: Pick<Links, 'open' | 'read'>;
  /** Whether the result of a call still counts; see `isLiveCall`. */
  isLive(callId: string): Promise<boolean>;
  pageLimit: PageLimit;
  /** How long a further download of a call's file waits, in milliseconds; set by tests. */
  waitMs?: number;
}

/** Downloads of a call's file that a process sends at the same time, and how long further ones wait. */
const DOWNLOADS = { most: 4, waitMs: 10_000, what: 'downloads of a file are sent' } as const;

const NOT_FOUND = 'The address of the file is wrong or has ended.';

/**
 * Registers the addresses of files that calls have produced. An address needs no key, because it contains a secret token. The token is
 * in the query, because paths are logged.
 */
export function linkRoutes(router: Router<State>, deps: Dependencies): void {
  const { links, isLive, pageLimit, waitMs = DOWNLOADS.waitMs } = deps;
  const downloads = createTransferLimit({ ...DOWNLOADS, waitMs });

  async function find(ctx: Context, callId: string): Promise<LinkedFile> {
    await pageLimit.count(ctx.ip);
    const { token } = ctx.query;
    const file = typeof token === 'string' ? links.open(callId, token) : null;
    if (file === null) throw new ServiceError('not_found', { detail: NOT_FOUND });
    await downloads.hold(callId, ctx.res);
    using _slot = await pageLimit.acquire(ctx.ip);
    if (!(await retryStore(() => isLive(callId)))) throw new ServiceError('not_found', { detail: NOT_FOUND });
    return file;
  }

  /** Returns the range that the request asks for, which only GET does; a range of another version of the file is not. */
  function rangeOf(ctx: Context, etag: string, size: number): ReturnType<typeof readRange> {
    const [range, condition] = [ctx.get('Range'), ctx.get('If-Range')];
    return range === '' || ctx.method !== 'GET' || (condition !== '' && condition !== etag)
      ? null
      : readRange(range, size);
  }

  /** Continues a download whose first piece has been read. */
  async function* rest(first: Buffer, next: () => Promise<IteratorResult<Buffer>>): AsyncGenerator<Buffer> {
    yield first;
    for (let piece = await next(); piece.done !== true; piece = await next()) yield piece.value;
  }

  /** Opens the bytes. @throws ServiceError not_found if they have been deleted */
  async function open(
    { ip }: Context,
    callId: string,
    file: LinkedFile,
    { start, end }: ByteRange,
  ): Promise<Readable> {
    const pieces = links.read(callId, file, start, end);
    // A slow client holds no slot of the process between two pieces.
    const next = async (): Promise<IteratorResult<Buffer>> => {
      using _slot = await pageLimit.acquire(ip);
      return await pieces.next();
    };
    try {
      // Read first, so that a file that is gone is an error and no broken response.
      const { value } = await next();
      return Readable.from(rest(value ?? Buffer.alloc(0), next), { highWaterMark: 1 });
    } catch (error) {
      if (!(error instanceof ResultGone)) throw error;
      throw new ServiceError('not_found', { detail: NOT_FOUND, cause: error });
    }
  }

  router.get(`${LINKS_PATH}/:id`, async (ctx) => {
    const callId = ctx.params.id ?? '';
    const file = await find(ctx, callId);
    const { sizeBytes, type, name } = file;
    const etag = `"${file.content.id}"`;
    const range = rangeOf(ctx, etag, sizeBytes);
    ctx.set({ 'Accept-Ranges': 'bytes', 'Cache-Control': 'private, no-store', ETag: etag });
    if (range === 'unsatisfiable') {
      ctx.set('Content-Range', `bytes */${sizeBytes}`);
      // Koa sets the status 204 with an empty body.
      ctx.body = null;
      ctx.status = 416;
      return;
    }
    const { start, end } = range ?? { start: 0, end: sizeBytes };
    ctx.status = range === null ? 200 : 206;
    if (range !== null) ctx.set('Content-Range', `bytes ${start}-${end - 1}/${sizeBytes}`);
    ctx.attachment(name, { fallback: asciiName(name) });
    ctx.type = type;
    ctx.body = await open(ctx, callId, file, { start, end });
    ctx.length = end - start;
  });
}
