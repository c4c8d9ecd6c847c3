import { ServiceError } from '../schemas/errors.ts';
import { isInternalName } from '../schemas/formats/hostname.ts';
import type { Limits } from './clock.ts';
import type { Policy } from './policy.ts';
import type { HostAddresses, Resolver } from './resolver.ts';
import type { Target } from './target.ts';

/** A target all of whose addresses may be connected to. Only `vet` creates one, and sockets are opened only to one. */
class VettedTarget {
  readonly target: Target;
  readonly #addresses: readonly string[];

  constructor(target: Target, addresses: readonly string[]) {
    this.target = target;
    this.#addresses = Object.freeze([...addresses]);
    Object.freeze(this);
  }

  /** IPv4 first; never empty. */
  get addresses(): readonly string[] {
    return this.#addresses;
  }
}

export type Vetted = VettedTarget;

const refused = (why: string): ServiceError => new ServiceError('target_refused', { cause: new Error(why) });

async function resolve(
  { host, port }: Target,
  policy: Policy,
  resolver: Pick<Resolver, 'addresses'>,
  limits: Limits,
): Promise<HostAddresses> {
  if (host.kind === 'address') return { addresses: [host.address], chain: [] };
  // RFC 6761 section 6.3: never looked up in DNS. The guard blocks loopback addresses unless `EGRESS_ALLOW` lists them.
  if (host.name === 'localhost') return { addresses: ['127.0.0.1', '::1'], chain: [] };
  const found = await resolver.addresses(host.name, limits);
  const inside = policy.names(host, port) ? undefined : found.chain.find(isInternalName);
  if (inside !== undefined) throw refused(`${host.name} is an alias of ${inside}`);
  return found;
}

/**
 * Looks the host up once and checks every address. A single forbidden address refuses the whole target, so that an
 * attacker cannot make the service choose that address.
 *
 * @throws ServiceError `target_refused`, and the errors of `Resolver.addresses`
 */
export async function vet(
  target: Target,
  policy: Policy,
  resolver: Pick<Resolver, 'addresses'>,
  limits: Limits,
): Promise<Vetted> {
  const { addresses } = await resolve(target, policy, resolver, limits);
  if (addresses.length === 0) throw new ServiceError('host_not_found');
  const bad = addresses.find((address) => !policy.permits(address, target.port, target.host));
  if (bad !== undefined) throw refused(`${bad} port ${target.port} must not be reached`);
  return new VettedTarget(
    target,
    addresses.toSorted((a, b) => Number(a.includes(':')) - Number(b.includes(':'))),
  );
}
