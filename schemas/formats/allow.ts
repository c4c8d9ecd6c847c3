import { type Address, type Block, parseAddress, parseBlock } from './address.ts';
import { parseHost } from './hostname.ts';

/** An exception to the egress guard. */
export type AllowEntry = { text: string } & (
  | /** A host name, whatever it resolves to, at this port; null: at every port. */
  { kind: 'name'; name: string; port: number | null }
  | { kind: 'address'; address: Address; port: number | null }
  | { kind: 'block'; block: Block }
);

/** Creates the exception for one host and port. @throws if the host is invalid */
export function allowHost(hostname: string, port: number | null): AllowEntry {
  const host = parseHost(hostname);
  if (host.kind === 'invalid') throw new Error(`${hostname} ${host.message}`);
  const text = port === null ? hostname : `${hostname}:${port}`;
  if (host.kind === 'name') return { kind: 'name', name: host.name, port, text };
  const address = parseAddress(host.address);
  if (address === null) throw new Error(`${hostname} is not an address`);
  return { kind: 'address', address, port, text };
}

/** Parses an exception: `host:port`, `[address]:port` or `address/prefix`. @throws for any other text */
export function parseAllow(text: string): AllowEntry {
  const block = parseBlock(text);
  if (block !== null) return { kind: 'block', block, text };
  const [, host, digits] = /^(\[[^\]]+\]|[^:/]+):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (host === undefined || port < 1 || port > 65_535)
    throw new Error(`must be host:port or a CIDR block such as 10.0.0.0/8, not ${text}`);
  return allowHost(host, port);
}
