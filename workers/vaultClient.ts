import { setTimeout as sleep } from 'node:timers/promises';
import type { ToolServices } from '../activities/runtime/toolActivities.ts';
import { ServiceError } from '../schemas/errors.ts';
import type { Keyring } from '../store/keyring.ts';
import { askVault } from '../store/vault.ts';

/** The API is on our own network: what takes longer than this is gone. */
const TIMEOUT_MS = 5000;
/** A connection that was kept open may be closed in the moment it is used again. Asking twice is harmless. */
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
 * Fetches a call's secrets from the API replica that received them. When that replica is gone so are they, and the call
 * ends as `internal`; another attempt of the tool cannot help.
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
      if (signal.aborted) throw error; // cancelled, or out of time: not the vault's fault
      throw new ServiceError('internal', { cause: error });
    }
  };
