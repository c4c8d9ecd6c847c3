import type { Lookup } from '../../egress/dns/lookup.ts';
import type { RecordType } from '../../egress/dns/record.ts';
import type { LookupOptions, Resolver } from '../../egress/resolver.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { isInternalName } from '../../schemas/formats/hostname.ts';

/**
 * Looks up a name that a caller or a stranger chose. Names of internal networks are not looked up, and aliases of such
 * names are not reported: only the internal network may resolve them.
 *
 * @param name as `parseQueryName` returns it
 * @throws ServiceError target_refused, and as `Resolver.lookup`
 */
export async function lookupPublic(
  resolver: Resolver,
  name: string,
  type: RecordType,
  options: LookupOptions,
): Promise<Lookup> {
  if (isInternalName(name)) throw new ServiceError('target_refused');
  const found = await resolver.lookup(name, type, options);
  if (found.chain.some(isInternalName)) throw new ServiceError('target_refused');
  return found;
}
