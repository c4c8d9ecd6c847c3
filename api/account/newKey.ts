import type { NewKeyBody } from '../../schemas/accountRows.ts';
import { type Fault, invalidInput } from '../../schemas/errors.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { NewKey } from '../../store/apiKeys.ts';

/**
 * Converts the body of a request to create an API key, and makes the checks that its JSON Schema cannot express.
 *
 * @throws ServiceError invalid_input: unknown tools, tools with the scope `account`, an expiry in the past
 */
export function newKey(accountId: string, body: NewKeyBody, registry: Registry): NewKey {
  const { name, scopes, tools } = body;
  const scope = scopes.includes('tools') ? 'tools' : 'account';
  const expiresAt = body.expiresAt === null ? null : new Date(body.expiresAt);

  const faults: Fault[] = (tools ?? []).flatMap((tool, index) =>
    registry.has(tool) ? [] : [{ pointer: `/tools/${index}`, message: 'is not a tool' }],
  );
  if (tools !== null && scope !== 'tools')
    faults.push({ pointer: '/tools', message: 'is permitted only with the scope "tools"' });
  // Negated instead of `<=`: a leap second is a valid date-time but an invalid JavaScript date, for which every
  // comparison is false.
  if (expiresAt !== null && !(expiresAt.getTime() > Date.now()))
    faults.push({ pointer: '/expiresAt', message: 'must be in the future' });
  if (faults.length > 0) throw invalidInput(faults);
  return { accountId, name, scope, tools, expiresAt };
}
