import { readAddresses, readShares } from '../../../store/accounts/shares.ts';
import { liftSuspension, suspendAccount } from '../../../store/accounts/suspension.ts';
import { REASON_LENGTH } from '../../billing/adjustment.ts';
import { UsageError } from '../arguments.ts';
import { ACCOUNT, type Command, requireAccount } from '../command.ts';

const suspend: Command = {
  name: 'suspend',
  about: 'Suspends an account: its calls are refused, and its sessions and keys stay.',
  options: {
    account: ACCOUNT,
    reason: { value: 'R', about: 'Reason, which the owner sees.', required: true },
  },
  prepare(values) {
    const [id, reason] = [values.text('account'), values.text('reason').trim()];
    if (reason === '' || reason.length > REASON_LENGTH)
      throw new UsageError(`--reason must have 1 to ${REASON_LENGTH} characters`);
    return async (context) => {
      await requireAccount(context, id);
      const { suspension } = await suspendAccount(context.store, id, reason, 'command line');
      return { id, suspendedAt: suspension?.at.toISOString() ?? null, reason };
    };
  },
};

const lift: Command = {
  name: 'lift',
  about: 'Ends the suspension of an account, and its pause after too many calls without a result.',
  options: { account: ACCOUNT },
  prepare(values) {
    const id = values.text('account');
    return async (context) => {
      await requireAccount(context, id);
      const { shortfall } = await liftSuspension(context.store, id, 'command line');
      return { id, suspendedAt: null, shortfall };
    };
  },
};

const listShares: Command = {
  name: 'accounts shares',
  about:
    'Lists the accounts that use most of the service now: running calls, failed calls, connections, bytes, stored results.',
  options: {},
  prepare: () => async (context) => ({
    items: (await readShares(context.store)).map(({ pausedUntil, ...share }) => ({
      ...share,
      pausedUntil: pausedUntil?.toISOString() ?? null,
    })),
    nextCursor: null,
  }),
};

const listAddresses: Command = {
  name: 'addresses',
  about: 'Lists the client addresses that use most of the API now: connections, uploads, unread responses.',
  options: {},
  prepare: () => async (context) => ({ items: await readAddresses(context.store), nextCursor: null }),
};

export const suspensionCommands: readonly Command[] = [suspend, lift, listShares, listAddresses];
