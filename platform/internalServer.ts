import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Registry } from 'prom-client';
import { TRACE_HEADER } from '../workflows/contract.ts';
import { answerHealth, type Details, type Readiness } from './readiness.ts';
import type { Vault } from './secrets/vault.ts';
import { CALLS_PATH } from './temporal/callStart.ts';

/** Maximum size of a vault request in bytes. A vault request contains only a call id and a token. */
const REQUEST_BYTES = 4096;
/** Maximum size of a call in bytes. Larger inputs than 64 KB are stored in MongoDB, and only referred to. */
const CALL_BYTES = 256 * 1024;

/** Reads the body of a request; null if it is larger than `limit` bytes. */
async function readBody(request: IncomingMessage, limit: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > limit) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function answerVault(vault: Vault, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readBody(request, REQUEST_BYTES);
  const reply = body === null ? null : vault.answer(body);
  response.writeHead(reply === null ? 404 : 200, { 'Content-Type': 'application/octet-stream' });
  response.end(reply ?? '');
}

/** A call whose workflow was started. */
export interface StartedCall {
  /** Resolves with the encrypted result of the call; with null if it is to be asked from Temporal. */
  result: Promise<Buffer | null>;
}

/** @param gone aborts when nobody waits for the result any more */
export type StartCall = (
  sealed: Buffer,
  traceparent: string | undefined,
  gone: AbortSignal,
) => Promise<StartedCall>;

/** Answers with the status as soon as the workflow has started, and with the result, if there is one, as the body. */
async function answerCall(
  start: StartCall,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readBody(request, CALL_BYTES);
  const traceparent = request.headers[TRACE_HEADER];
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const started =
    body === null
      ? null
      : await start(body, typeof traceparent === 'string' ? traceparent : undefined, gone.signal).catch(
          () => null,
        );
  if (started === null) {
    response.writeHead(503).end();
    return;
  }
  response.writeHead(200, { 'Content-Type': 'application/octet-stream' }).flushHeaders();
  response.end((await started.result) ?? '');
}

interface Internal {
  /** Runs the readiness checks whose result /readyz reports. */
  readiness(): Promise<Readiness>;
  /** Further information about the process that /readyz reports. */
  details?: Details;
  /** Returns metrics in Prometheus's text format. */
  metrics(): Promise<string>;
  /** The vault of an API process; null in workers. */
  vault: Vault | null;
  /** Starts the workflow of a call (see workers/fastLane.ts). Default: this process accepts no calls. */
  startCall?: StartCall;
}

/**
 * Creates the server of the internal port, which serves health checks and metrics, in API processes the vault, and in workers
 * with a fast lane calls.
 */
export function createInternalServer({ readiness, details, metrics, vault, startCall }: Internal): Server {
  const health = async () => ({ ...(await readiness()), ...(details === undefined ? {} : { details }) });
  return createServer((request, response) => {
    if (answerHealth(health, request, response)) return;
    if (request.url === '/metrics') {
      metrics().then(
        (text) => response.writeHead(200, { 'Content-Type': Registry.PROMETHEUS_CONTENT_TYPE }).end(text),
        () => response.writeHead(500).end(),
      );
      return;
    }
    if (vault !== null && request.method === 'POST' && request.url === '/vault') {
      answerVault(vault, request, response).catch(() => response.destroy());
      return;
    }
    if (startCall !== undefined && request.method === 'POST' && request.url === CALLS_PATH) {
      answerCall(startCall, request, response).catch(() => response.destroy());
      return;
    }
    response.writeHead(404).end();
  });
}
