import type { ToolServices } from '../activities/tools.ts';
import { ServiceError } from '../schemas/errors.ts';
import type { Keyring } from '../store/keyring.ts';
import { askVault } from '../store/vault.ts';

/** The API is on our own network: what takes longer than this is gone. */
const TIMEOUT_MS = 5000;

/**
 * Fetches a call's secrets from the API replica that received them. When that replica is gone so are they, and the call
 * ends as `internal`; trying again cannot help.
 */
export const createVaultClient =
  (keyring: Keyring): ToolServices['openVault'] =>
  async ({ url, token }, callId, signal) => {
    const { request, open } = askVault(keyring, callId, token);
    try {
      const response = await fetch(`${url}/vault`, {
        method: 'POST',
        body: new Uint8Array(request),
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      if (!response.ok) throw new Error(`the vault answered ${response.status}`);
      return open(new Uint8Array(await response.arrayBuffer()));
    } catch (error) {
      throw new ServiceError('internal', { cause: error });
    }
  };
