import type { KeyChangeBody, NewKeyBody } from '../../schemas/accountRows.ts';
import { type Fault, invalidInput } from '../../schemas/errors.ts';
import { parseNetwork } from '../../schemas/formats/network.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { KeyChange, NewKey } from '../../store/keys/apiKeys.ts';
import type { ApiKeyDoc } from '../../store/keys/keyDocs.ts';

/** For times that the JSON Schema permits and JavaScript dates do not have: leap seconds, and offsets such as `+05`. */
const UNSUPPORTED_TIME =
  'must have seconds from 00 to 59, and an offset that is Z or has minutes, such as +05:00';

/** The last time in milliseconds that has a year of four digits, as times in responses do; an offset can make it later. */
const LAST_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Finds the faults of a new or changed key that its JSON Schema cannot express. */
function faultsOf(
  { tools, expiresAt, dailyBudget, monthlyBudget, allowedNetworks }: KeyChangeBody,
  scope: ApiKeyDoc['scope'],
  registry: Registry,
): Fault[] {
  const faults: Fault[] = (tools ?? []).flatMap((tool, index) =>
    registry.has(tool) ? [] : [{ pointer: `/tools/${index}`, message: 'is not a tool' }],
  );
  for (const [field, value] of Object.entries({ tools, dailyBudget, monthlyBudget }))
    if (value != null && scope !== 'tools')
      faults.push({ pointer: `/${field}`, message: 'is permitted only with the scope "tools"' });
  for (const [index, network] of (allowedNetworks ?? []).entries()) {
    const parsed = parseNetwork(network);
    if (typeof parsed === 'string') faults.push({ pointer: `/allowedNetworks/${index}`, message: parsed });
  }
  if (expiresAt != null) {
    const time = Date.parse(expiresAt);
    if (Number.isNaN(time)) faults.push({ pointer: '/expiresAt', message: UNSUPPORTED_TIME });
    else if (time > LAST_TIME)
      faults.push({ pointer: '/expiresAt', message: 'must be before the year 10000' });
    else if (time <= Date.now()) faults.push({ pointer: '/expiresAt', message: 'must be in the future' });
  }
  return faults;
}

const dateOf = (time: string | null): Date | null => (time === null ? null : new Date(time));

/**
 * Converts the body of a request to create an API key.
 *
 * @throws ServiceError invalid_input: unknown tools, an expiry in the past, invalid networks; tools and budgets with the
 *   scope `account`
 */
export function newKey(accountId: string, body: NewKeyBody, registry: Registry): NewKey {
  const { scopes, expiresAt, ...fields } = body;
  const scope = scopes.includes('tools') ? 'tools' : 'account';
  const faults = faultsOf(body, scope, registry);
  if (faults.length > 0) throw invalidInput(faults);
  return { ...fields, accountId, scope, expiresAt: dateOf(expiresAt) };
}

/** Converts the body of a request to change a key of this scope. @throws ServiceError invalid_input, as `newKey` */
export function keyChange(body: KeyChangeBody, scope: ApiKeyDoc['scope'], registry: Registry): KeyChange {
  const { expiresAt, ...fields } = body;
  const faults = faultsOf(body, scope, registry);
  if (faults.length > 0) throw invalidInput(faults);
  return { ...fields, ...(expiresAt !== undefined && { expiresAt: dateOf(expiresAt) }) };
}
