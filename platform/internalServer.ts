import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Registry } from 'prom-client';
import { answerHealth, type Details, type Readiness } from './readiness.ts';
import type { Vault } from './secrets/vault.ts';

/** Maximum size of a vault request in bytes. A vault request contains only a call id and a token. */
const REQUEST_BYTES = 4096;

async function answerVault(vault: Vault, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > REQUEST_BYTES) break;
    chunks.push(chunk);
  }
  const reply = size > REQUEST_BYTES ? null : vault.answer(Buffer.concat(chunks));
  response.writeHead(reply === null ? 404 : 200, { 'Content-Type': 'application/octet-stream' });
  response.end(reply ?? '');
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
}

/** Creates the server of the internal port, which serves health checks, metrics and, in API processes, the vault. */
export function createInternalServer({ readiness, details, metrics, vault }: Internal): Server {
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
    response.writeHead(404).end();
  });
}
