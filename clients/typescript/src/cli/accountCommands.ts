import { UtilityToolsAccount } from '../account.ts';
import { numberOf } from './arguments.ts';
import { UsageError } from './exit.ts';
import { accessOf } from './keys.ts';
import { fieldsOf, firstOf, jsonOf, tableOf } from './rows.ts';
import { type Subcommand, textOf, type Values } from './subcommand.ts';
import type { Surroundings } from './surroundings.ts';

/** Maximum number of rows of one request. */
const PAGE_ROWS = 100;
const DEFAULT_ROWS = 20;

/** Opens the Account API with the key of scope `account`. @throws UsageError */
export const openAccount = async (values: Values, { env }: Surroundings): Promise<UtilityToolsAccount> =>
  new UtilityToolsAccount(await accessOf(env, textOf(values['base-url']), 'account'));

/** The number of rows to list. @throws UsageError */
export function rowsOf(values: Values): number {
  const text = textOf(values.limit);
  const count = text === undefined ? DEFAULT_ROWS : numberOf('limit', text);
  if (!Number.isInteger(count) || count < 1) throw new UsageError('--limit takes a positive integer.');
  return count;
}

export const pageOf = (count: number): number => Math.min(count, PAGE_ROWS);

/** Narrows a text of the command line to one of the values that the API accepts. @throws UsageError */
export function oneOf<T extends string>(
  flag: string,
  text: string | undefined,
  values: readonly T[],
): T | undefined {
  const value = values.find((it) => it === text);
  if (text !== undefined && value === undefined)
    throw new UsageError(`--${flag} is one of ${values.join(', ')}, not ${JSON.stringify(text)}.`);
  return value;
}

export const showBalance: Subcommand = {
  name: 'balance',
  usage: '[--json]',
  about: 'Show the credits of the account. Needs a key of scope "account".',
  options: {},
  operands: 0,
  async run(values, _operands, surroundings) {
    const account = await (await openAccount(values, surroundings)).getAccount({
      signal: surroundings.signal,
    });
    if (values.json === true) return surroundings.out(jsonOf(account));
    const { email, balance: credits, reserved, available } = account;
    surroundings.out(fieldsOf({ email, balance: credits, reserved, available }));
  },
};

export const listCalls: Subcommand = {
  name: 'calls',
  usage: '[--tool NAME] [--state STATE] [--limit N] [--json]',
  about: 'List the latest calls of the account. Needs a key of scope "account".',
  options: { tool: { type: 'string' }, state: { type: 'string' }, limit: { type: 'string' } },
  operands: 0,
  async run(values, _operands, surroundings) {
    const count = rowsOf(values);
    const state = oneOf('state', textOf(values.state), ['running', 'charged', 'refunded', 'refused']);
    const account = await openAccount(values, surroundings);
    const query = { tool: textOf(values.tool), state, limit: pageOf(count) };
    const rows = await firstOf(account.listCalls(query, { signal: surroundings.signal }), count);
    if (values.json === true) return surroundings.out(rows.map(jsonOf).join(''));
    surroundings.out(
      tableOf(
        ['id', 'started', 'tool', 'state', 'charged', 'code'],
        rows.map((row) => [row.id, row.startedAt, row.tool, row.state, String(row.charged), row.code ?? '']),
      ),
    );
  },
};

export const showReceipt: Subcommand = {
  name: 'receipt',
  usage: 'CALL [--json]',
  about:
    'Verify the signed receipt of a charged call, and show what it says. CALL is the id of the call or of its request. Needs a key ' +
    'of scope "account".',
  options: {},
  operands: 1,
  async run(values, [id = ''], surroundings) {
    const { signal, out } = surroundings;
    const client = await openAccount(values, surroundings);
    const signed = await client.getReceipt(id, { signal });
    const receipt = await client.verifyReceipt(signed.receipt, { signal });
    if (values.json === true) return out(jsonOf({ ...receipt, ...signed }));
    const { iss: service, iat, sub: account, ...rest } = receipt;
    out(fieldsOf({ service, account, ...rest, signedAt: new Date(iat * 1000).toISOString() }));
  },
};
