import { loadKeyring } from '../../../store/keyring.ts';
import { countReferences, rewrapSecrets } from '../../../store/rekey.ts';
import type { Command } from '../command.ts';

/** Payloads of workflows are kept so long after these have ended, sealed with the key of their time. */
const RETENTION_MS = 72 * 3_600_000;

export const rekey: Command = {
  name: 'rekey',
  about:
    'Seals what lives long with the first key of MASTER_KEYS, and says which older keys are still needed.',
  options: {},
  prepare: () => async (books) => {
    const keyring = loadKeyring(books.env);
    const rewrapped = await rewrapSecrets(books.store, keyring);
    return {
      current: keyring.currentId,
      rewrapped,
      olderKeysNeededUntil: new Date(Date.now() + RETENTION_MS).toISOString(),
      references: await countReferences(books.store, keyring),
    };
  },
};
