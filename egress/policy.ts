import { type Address, isWithin, parseAddress } from '../schemas/formats/address.ts';
import type { AllowEntry } from '../schemas/formats/allow.ts';
import type { Host } from '../schemas/formats/hostname.ts';
import { type Classifier, createClassifier, createSecondClassifier, readBlock } from './classify.ts';
import type { IsOwn } from './own.ts';
import { NEVER, RANGES, REFUSED_SPANS } from './ranges.ts';

export type ValidHost = Exclude<Host, { kind: 'invalid' }>;

/** Decides which hosts, addresses and ports may be reached. */
export interface Policy {
  /** True when an entry of `EGRESS_ALLOW` names exactly this host, with this port or without a port. */
  names(host: ValidHost, port: number): boolean;
  /** True when an entry of `EGRESS_ALLOW` names exactly this host and port, which alone opens a port of `BAD_PORTS`. */
  namesPort(host: ValidHost, port: number): boolean;
  /** True when a connection to this address and port, for a target with this host, is allowed. */
  permits(address: string, port: number, host: ValidHost): boolean;
}

interface PolicyOptions {
  /** The entries of `EGRESS_ALLOW`. */
  allow: readonly AllowEntry[];
  /** Ports on which processes of this installation listen, including its databases. */
  ownPorts: readonly number[];
  isOwn: IsOwn;
  /** An address counts as public only if every classifier returns true for it. */
  classifiers?: readonly Classifier[];
}

const same = (a: Address, b: Address): boolean => a.family === b.family && a.value === b.value;

/** Creates a policy from the public ranges, the operator's `EGRESS_ALLOW`, and the installation's addresses and ports. */
export function createPolicy({
  allow,
  ownPorts,
  isOwn,
  classifiers = [createClassifier(RANGES), createSecondClassifier(REFUSED_SPANS)],
}: PolicyOptions): Policy {
  const never = NEVER.map(readBlock);

  const namesAddress = (address: Address, port: number): boolean =>
    allow.some(
      (entry) =>
        entry.kind === 'address' &&
        (entry.port === null || entry.port === port) &&
        same(entry.address, address),
    );

  /** The ports that entries of `EGRESS_ALLOW` open for a host; a null in the list means every port. */
  function exceptionsFor(host: ValidHost): (number | null)[] {
    const address = host.kind === 'address' ? parseAddress(host.address) : null;
    return allow.flatMap((entry) => {
      const isMeant =
        (entry.kind === 'name' && host.kind === 'name' && entry.name === host.name) ||
        (entry.kind === 'address' && address !== null && same(entry.address, address));
      return isMeant ? [entry.port] : [];
    });
  }
  const names = (host: ValidHost, port: number): boolean =>
    exceptionsFor(host).some((open) => open === null || open === port);
  const namesPort = (host: ValidHost, port: number): boolean => exceptionsFor(host).includes(port);

  function permits(text: string, port: number, host: ValidHost): boolean {
    const address = parseAddress(text);
    if (address === null || never.some((block) => isWithin(address, block))) return false;
    const own = isOwn(address);
    if (own && ownPorts.includes(port)) return false;
    if (namesAddress(address, port) || (host.kind === 'name' && names(host, port))) return true;
    // A CIDR block of EGRESS_ALLOW does not open ports of this installation, whose databases may run inside the block.
    if (
      !ownPorts.includes(port) &&
      allow.some((entry) => entry.kind === 'block' && isWithin(address, entry.block))
    )
      return true;
    return !own && classifiers.every((isPublic) => isPublic(text));
  }

  return { names, namesPort, permits };
}
