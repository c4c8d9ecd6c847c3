import { setTimeout as sleep } from 'node:timers/promises';
import type { ToolServices } from '../activities/runtime/toolActivities.ts';
import type { Keyring } from '../platform/secrets/keyring.ts';
import { askVault } from '../platform/secrets/vault.ts';
import { ServiceError } from '../schemas/errors.ts';

/** Timeout of a vault request. The API process is on the same network; if it takes longer, it counts as unreachable. */
const TIMEOUT_MS = 5000;
/** Attempts per request: a keep-alive connection may close while it is reused, and a request has no side effects. */
const ATTEMPTS = 3;
const RETRY_MS = 100;

async function post(url: string, body: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await fetch(url, { method: 'POST', body, redirect: 'error', signal });
    } catch (error) {
      if (attempt === ATTEMPTS || signal.aborted) throw error;
      await sleep(RETRY_MS);
    }
  }
}

/**
 * Creates the function that fetches a call's secret fields from the API process that received them. If that process is
 * gone, the secrets are lost and the call fails with `internal` without another attempt.
 */
export const createVaultClient =
  (keyring: Keyring): ToolServices['openVault'] =>
  async ({ url, token }, callId, signal) => {
    const { request, open } = askVault(keyring, callId, token);
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
      const response = await post(`${url}/vault`, new Uint8Array(request), limit);
      if (!response.ok) throw new Error(`the vault answered ${response.status}`);
      return open(new Uint8Array(await response.arrayBuffer()));
    } catch (error) {
      if (signal.aborted) throw error; // The call was cancelled or timed out.
      throw new ServiceError('internal', { cause: error });
    }
  };
