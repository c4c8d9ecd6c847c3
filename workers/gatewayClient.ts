import type { Pieces } from '../store/calls/results.ts';
import { EXPIRES_HEADER } from './gateway/piecesServer.ts';

/** Timeout of a request in milliseconds. Pieces have at most 8 MB, and the gateway is on the same network. */
const TIMEOUT_MS = 20_000;

/** Stores pieces of inputs and results through the gateway, for workers without MongoDB. */
export function gatewayPieces(gatewayUrl: string): Pieces {
  const ask = (id: string, init: RequestInit): Promise<Response> =>
    fetch(`${gatewayUrl}/pieces/${id}`, {
      ...init,
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  return {
    async put(id, sealed, expiresAt) {
      const headers = { [EXPIRES_HEADER]: String(expiresAt.getTime()) };
      const { status } = await ask(id, { method: 'PUT', headers, body: new Uint8Array(sealed) });
      if (status !== 204) throw new Error(`the gateway answered ${status}`);
    },
    async get(id) {
      const response = await ask(id, {});
      if (response.status === 404) return null;
      if (!response.ok) throw new Error(`the gateway answered ${response.status}`);
      return new Uint8Array(await response.arrayBuffer());
    },
  };
}

/** Checks that the gateway responds and is connected to its servers. @throws when it is not */
export async function assertGateway(gatewayUrl: string, signal: AbortSignal): Promise<void> {
  const { status } = await fetch(`${gatewayUrl}/ready`, { signal });
  if (status !== 200) throw new Error(`the gateway answered ${status}`);
}
