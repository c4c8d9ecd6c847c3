import {
  type KeyChangeBody,
  type KeyRotationBody,
  keyChangeBody,
  keyRotationBody,
  type NewKeyBody,
  newKeyBody,
} from '../../../schemas/accountRows.ts';
import { OPERATOR } from '../../../store/accounts/securityLog.ts';
import { createKeys, type Keys } from '../../account/keyService.ts';
import { createValidator } from '../../http/validator.ts';
import type { Values } from '../arguments.ts';
import { ACCOUNT, type Command, type CommandContext, PAGE, pageOf, requireAccount } from '../command.ts';

/** Returns the operations on the keys of an account. @throws CommandError if the account does not exist */
async function keysOf(context: CommandContext, accountId: string): Promise<Keys> {
  await requireAccount(context, accountId);
  return createKeys(context);
}

const KEY = { value: 'ID', about: 'Id of the key (not the key itself).', required: true } as const;
/** Value of an option that removes a limit. */
const NONE = 'none';

const LIMITS = {
  'daily-budget': { value: 'N', about: 'Credits that the key may spend per day (UTC), or none.' },
  'monthly-budget': { value: 'N', about: 'Credits that the key may spend per month (UTC), or none.' },
  'rate-limit': { value: 'N', about: 'Requests per second that the key may send, or none.' },
  networks: {
    value: 'A,B,…',
    about: 'IP addresses and CIDR blocks from which the key may be used, or none for all.',
  },
} as const;

/** Parses an option with the text `none` for null. Text that is not a number is left to the schema. */
const numberOf = (text: string | undefined): unknown => {
  if (text === NONE) return null;
  return /^\d{1,15}$/.test(text ?? '') ? Number(text) : text;
};
const listOf = (text: string | undefined): string[] | null | undefined =>
  text === NONE ? null : text?.split(',');

/** Returns the fields of a request body whose options were given. */
const fieldsOf = (values: Values): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries({
      name: values.optional('name'),
      tools: listOf(values.optional('tools')),
      expiresAt: values.optional('expires') === NONE ? null : values.optional('expires'),
      dailyBudget: numberOf(values.optional('daily-budget')),
      monthlyBudget: numberOf(values.optional('monthly-budget')),
      rateLimit: numberOf(values.optional('rate-limit')),
      allowedNetworks: listOf(values.optional('networks')),
    }).filter(([, value]) => value !== undefined),
  );

const listKeys: Command = {
  name: 'keys list',
  about: 'Lists the API keys of an account, newest first, including revoked ones.',
  options: { account: ACCOUNT, ...PAGE },
  prepare(values) {
    const [id, page] = [values.text('account'), pageOf(values)];
    return async (context) => {
      const { items, nextCursor } = await (await keysOf(context, id)).list(id, page);
      return { items, nextCursor };
    };
  },
};

const createKey: Command = {
  name: 'keys create',
  about: 'Creates an API key, which is shown only once. Fires api_key.created.',
  options: {
    account: ACCOUNT,
    name: { value: 'NAME', about: 'Name of the key.', required: true },
    scope: { value: 'tools|account', about: 'Scope of the key. Default: tools.' },
    tools: { value: 'A,B,…', about: 'Names of the tools that the key may call. Default: all tools.' },
    expires: { value: 'TIME', about: 'When the key expires (ISO 8601 with offset). Default: never.' },
    ...LIMITS,
  },
  prepare(values) {
    const id = values.text('account');
    const body = createValidator()<NewKeyBody>(newKeyBody)({
      ...fieldsOf(values),
      scopes: [values.optional('scope') ?? 'tools'],
    });
    return async (context) => (await keysOf(context, id)).create(id, body, OPERATOR);
  },
};

const changeKey: Command = {
  name: 'keys change',
  about: 'Changes an API key; options that are left out change nothing. Fires api_key.changed.',
  options: {
    account: ACCOUNT,
    key: KEY,
    name: { value: 'NAME', about: 'New name of the key.' },
    tools: { value: 'A,B,…', about: 'Names of the tools that the key may call, or none for all.' },
    expires: { value: 'TIME', about: 'When the key expires (ISO 8601 with offset), or none.' },
    ...LIMITS,
  },
  prepare(values) {
    const [id, keyId] = [values.text('account'), values.text('key')];
    const body = createValidator()<KeyChangeBody>(keyChangeBody)(fieldsOf(values));
    return async (context) => (await keysOf(context, id)).change(id, keyId, body, OPERATOR);
  },
};

const rotateKey: Command = {
  name: 'keys rotate',
  about:
    'Gives an API key a new secret, which is shown only once. The old one stays valid for some hours. Fires api_key.rotated.',
  options: {
    account: ACCOUNT,
    key: KEY,
    overlap: { value: 'HOURS', about: 'Hours for which the old secret stays valid, 0 to 168. Default: 24.' },
  },
  prepare(values) {
    const [id, keyId] = [values.text('account'), values.text('key')];
    const overlapHours = values.integer('overlap', 0, 168);
    const body = createValidator()<KeyRotationBody>(keyRotationBody)({
      ...(overlapHours !== undefined && { overlapHours }),
    });
    return async (context) => (await keysOf(context, id)).rotate(id, keyId, body, OPERATOR);
  },
};

const revokeKey: Command = {
  name: 'keys revoke',
  about: 'Revokes an API key permanently, effective from the next request. Fires api_key.revoked.',
  options: { account: ACCOUNT, key: KEY },
  prepare(values) {
    const [id, keyId] = [values.text('account'), values.text('key')];
    return async (context) => {
      await (await keysOf(context, id)).revoke(id, keyId, OPERATOR);
      return { revoked: keyId };
    };
  },
};

export const keyCommands: readonly Command[] = [listKeys, createKey, changeKey, rotateKey, revokeKey];
