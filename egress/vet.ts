import { ServiceError } from '../schemas/errors.ts';
import { isInternalName } from '../schemas/formats/hostname.ts';
import type { Limits } from './clock.ts';
import type { Policy } from './policy.ts';
import type { HostAddresses, Resolver } from './resolver.ts';
import type { Target } from './target.ts';

/** A target whose addresses are all allowed. Only `vet` creates vetted targets, and sockets are opened to no others. */
class VettedTarget {
  readonly target: Target;
  readonly #addresses: readonly string[];

  constructor(target: Target, addresses: readonly string[]) {
    this.target = target;
    this.#addresses = Object.freeze([...addresses]);
    Object.freeze(this);
  }

  /** The IP addresses of the host, IPv4 first; never empty. */
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
  // `localhost` is never looked up in DNS (RFC 6761 section 6.3). Loopback is blocked unless `EGRESS_ALLOW` lists it.
  if (host.name === 'localhost') return { addresses: ['127.0.0.1', '::1'], chain: [] };
  const found = await resolver.addresses(host.name, limits);
  const inside = policy.names(host, port) ? undefined : found.chain.find(isInternalName);
  if (inside !== undefined) throw refused(`${host.name} is an alias of ${inside}`);
  return found;
}

/**
 * Resolves the host of a target once and checks every address. If a single address is not allowed, the whole target is
 * refused, so that an attacker cannot make the service choose that address.
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
