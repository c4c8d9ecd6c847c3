import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Answer } from '../../egress/gatewayServer.ts';
import { type Pieces, SEALED_PIECE_BYTES } from '../../store/calls/results.ts';
import { JOB_KEPT_MS } from '../../store/jobs/jobs.ts';

/**
 * Ids as `createResults` makes them for tools: a random UUID and the number of the piece. Those of the inputs of calls, which
 * workers only read, have a name between.
 */
const PATH = /^\/pieces\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(:input)?:\d{1,2})$/;
/** Header with the expiry of a piece, in epoch milliseconds. */
export const EXPIRES_HEADER = 'x-expires-at';
/** Longest time for which a piece is stored. Results of jobs are kept for an hour longer than they can be read. */
const MAX_AGE_MS = JOB_KEPT_MS + 2 * 3_600_000;
/** Milliseconds within which a piece must be received. */
const RECEIVE_MS = 30_000;

async function receive(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  request.setTimeout(RECEIVE_MS, () => request.destroy(new Error('the piece was not received in time')));
  for await (const chunk of request) {
    size += chunk.length;
    if (size > SEALED_PIECE_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Stores and returns encrypted pieces of inputs and results for workers without MongoDB. A worker must know the random id of
 * a piece to read it, and cannot list, change or delete pieces.
 */
export function createPiecesServer(pieces: Pieces, onError: (error: unknown) => void): Answer {
  async function put(id: string, request: IncomingMessage): Promise<number> {
    const expiresAt = Number(request.headers[EXPIRES_HEADER]);
    if (!(expiresAt > Date.now() && expiresAt < Date.now() + MAX_AGE_MS)) return 400;
    const sealed = await receive(request);
    if (sealed === null) return 413;
    const existing = await pieces.get(id);
    // The request may be the repetition of one whose response was lost.
    if (existing !== null) return sealed.equals(existing) ? 204 : 409;
    await pieces.put(id, sealed, new Date(expiresAt));
    return 204;
  }

  async function serve(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'PUT') {
      response.writeHead(await put(id, request), { Connection: 'close' }).end();
      return;
    }
    const sealed = request.method === 'GET' ? await pieces.get(id) : null;
    if (sealed === null) response.writeHead(404).end();
    else response.writeHead(200, { 'Content-Type': 'application/octet-stream' }).end(sealed);
  }

  return (request, response) => {
    const [, id, input] = PATH.exec(request.url ?? '') ?? [];
    if (id === undefined || (input !== undefined && request.method !== 'GET')) return false;
    serve(id, request, response).catch((error: unknown) => {
      onError(error);
      if (response.headersSent) response.destroy();
      else response.writeHead(503).end();
    });
    return true;
  };
}
