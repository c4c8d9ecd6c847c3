import { loadKeyring } from '../../../platform/secrets/keyring.ts';
import { countReferences } from '../../../store/secrets/rekey.ts';
import { rewrapSecrets } from '../../../store/secrets/rewrapSecrets.ts';
import type { Command } from '../command.ts';

/**
 * How long Temporal keeps ended workflows. Their payloads stay encrypted with the master key that was the current one
 * when they ran.
 */
const RETENTION_MS = 72 * 3_600_000;

export const rekey: Command = {
  name: 'rekey',
  about:
    'Re-encrypts stored secrets with the first key of MASTER_KEYS and reports which older keys are still needed.',
  options: {},
  prepare: () => async (context) => {
    const keyring = loadKeyring(context.env);
    const rewrapped = await rewrapSecrets(context.store, keyring);
    return {
      current: keyring.currentId,
      rewrapped,
      olderKeysNeededUntil: new Date(Date.now() + RETENTION_MS).toISOString(),
      references: await countReferences(context.store, keyring),
    };
  },
};
