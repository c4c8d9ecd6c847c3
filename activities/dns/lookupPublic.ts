import type { Lookup } from '../../egress/dns/lookup.ts';
import type { RecordType } from '../../egress/dns/record.ts';
import type { Verdict } from '../../egress/dnssec/validate.ts';
import type { LookupOptions, Resolver } from '../../egress/resolver.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { isInternalName } from '../../schemas/formats/hostname.ts';

/**
 * Looks up a name that was chosen by a caller, or by a server that a caller named. Refuses names of internal networks,
 * also as the target of an alias (CNAME), because only the internal network may resolve them.
 *
 * @param name as `parseQueryName` returns it
 * @throws ServiceError target_refused, and the errors of `Resolver.lookup`
 */
export async function lookupPublic(
  resolver: Resolver,
  name: string,
  type: RecordType,
  options: LookupOptions,
): Promise<Lookup> {
  if (isInternalName(name)) throw new ServiceError('target_refused');
  return refuseInternal(await resolver.lookup(name, type, options));
}

function refuseInternal(found: Lookup): Lookup {
  if (found.chain.some(isInternalName)) throw new ServiceError('target_refused');
  return found;
}

/** As `lookupPublic`, with validation by DNSSEC. */
export async function lookupPublicValidated(
  resolver: Resolver,
  name: string,
  type: RecordType,
  options: LookupOptions,
): Promise<{ lookup: Lookup; verdict: Verdict }> {
  if (isInternalName(name)) throw new ServiceError('target_refused');
  const { lookup, verdict } = await resolver.lookupValidated(name, type, options);
  return { lookup: refuseInternal(lookup), verdict };
}
