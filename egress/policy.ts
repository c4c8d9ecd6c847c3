import { type Address, isWithin, parseAddress } from '../schemas/formats/address.ts';
import type { AllowEntry } from '../schemas/formats/allow.ts';
import type { Host } from '../schemas/formats/hostname.ts';
import { type Classifier, createClassifier, createSecondClassifier, readBlock } from './classify.ts';
import type { IsOwn } from './own.ts';
import { NEVER, RANGES, REFUSED_SPANS } from './ranges.ts';

export type ValidHost = Exclude<Host, { kind: 'invalid' }>;

/** What may be reached. */
export interface Policy {
  /** An exception names this very host, at this port or at all ports. */
  names(host: ValidHost, port: number): boolean;
  /** An exception names this very host and this very port: only that opens a port that URLs may not name. */
  namesPort(host: ValidHost, port: number): boolean;
  /** A connection to this address and port may be opened for that host. */
  permits(address: string, port: number, host: ValidHost): boolean;
}

interface PolicyOptions {
  allow: readonly AllowEntry[];
  /** Ports that this service itself listens on, its databases included. */
  ownPorts: readonly number[];
  isOwn: IsOwn;
  /** All have to agree that an address is public. */
  classifiers?: readonly Classifier[];
}

const same = (a: Address, b: Address): boolean => a.family === b.family && a.value === b.value;

/** Puts the public ranges, the operator's exceptions, and what is our own together. */
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

  /** The ports of the exceptions for a host; null stands for every port. */
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
    // A block was not written with our ports in mind: databases of ours may be elsewhere in it.
    if (
      !ownPorts.includes(port) &&
      allow.some((entry) => entry.kind === 'block' && isWithin(address, entry.block))
    )
      return true;
    return !own && classifiers.every((isPublic) => isPublic(text));
  }

  return { names, namesPort, permits };
}
