import { recordClients } from '../../store/accounts/shares.ts';
import type { ApiCore } from '../core.ts';

const SAMPLE_INTERVAL_MS = 5000;

/**
 * Stores the clients that use most of this process every five seconds until it stops, for operators.
 *
 * @param processId id of the lease of this process
 */
export function sampleClients({ store, clientUses, onError, open }: ApiCore, processId: string): void {
  let wasEmpty = true;
  const sample = async () => {
    const clients = clientUses.largest();
    const isEmpty = clients.addresses.length === 0;
    if (!isEmpty || !wasEmpty) await recordClients(store, processId, clients);
    wasEmpty = isEmpty;
  };
  const timer = setInterval(() => void sample().catch(onError), SAMPLE_INTERVAL_MS).unref();
  open.defer(() => clearInterval(timer));
}
