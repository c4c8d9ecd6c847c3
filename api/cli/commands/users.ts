import { removePasskeys } from '../../../store/accounts/passkeys.ts';
import { setUserRole } from '../../../store/accounts/userRoles.ts';
import { removeTwoFactor } from '../../../store/secrets/twoFactorSecrets.ts';
import type { Role } from '../../auth/auth.ts';
import { CommandError } from '../addresses.ts';
import { UsageError } from '../arguments.ts';
import type { Command } from '../command.ts';

const ROLES: readonly Role[] = ['owner', 'operator'];

const setUser: Command = {
  name: 'users set',
  about:
    'Changes the role of a user. An operator can adjust all accounts, open the Temporal UI and read the payloads of calls.',
  options: {
    email: { value: 'E', about: 'Email address with which the user signs in.', required: true },
    role: { value: 'ROLE', about: 'owner or operator.', required: true },
  },
  prepare(values) {
    const email = values.text('email');
    const role = ROLES.find((known) => known === values.text('role'));
    if (role === undefined) throw new UsageError('--role must be owner or operator');
    return async ({ store }) => {
      if (!(await setUserRole(store, email, role)))
        throw new CommandError(
          `there is no user ${JSON.stringify(email)}; users sign up at /dashboard with their own password`,
        );
      return { email, role };
    };
  },
};

const resetTwoFactor: Command = {
  name: 'users reset-two-factor',
  about:
    'Turns off two-factor authentication of a user who has lost the authenticator app and the backup codes. First verify the identity of the person who asks.',
  options: {
    email: { value: 'E', about: 'Email address with which the user signs in.', required: true },
  },
  prepare(values) {
    const email = values.text('email');
    return async ({ store }) => {
      if (!(await removeTwoFactor(store, email)))
        throw new CommandError(`there is no user ${JSON.stringify(email)}`);
      return { email, hasTwoFactor: false };
    };
  },
};

const deletePasskeys: Command = {
  name: 'users remove-passkeys',
  about:
    'Removes all passkeys of a user and ends the sessions. The user then signs in with the password. First verify the identity of the person who asks.',
  options: {
    email: { value: 'E', about: 'Email address with which the user signs in.', required: true },
  },
  prepare(values) {
    const email = values.text('email');
    return async ({ store }) => {
      const removed = await removePasskeys(store, email);
      if (removed === null) throw new CommandError(`there is no user ${JSON.stringify(email)}`);
      return { email, removed };
    };
  },
};

export const userCommands: readonly Command[] = [setUser, resetTwoFactor, deletePasskeys];
