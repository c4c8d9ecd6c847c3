import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { DnsServer } from '../../schemas/envValues.ts';

/** Largest number of name servers (resolv.conf(5), MAXNS). */
const MAX_SERVERS = 3;

/** The `nameserver` lines of a resolv.conf; without any, the server on this machine (resolv.conf(5)). */
export function parseResolvConf(text: string): DnsServer[] {
  const servers = text
    .split('\n')
    .map((line) => /^nameserver\s+(\S+)/.exec(line)?.[1] ?? '')
    .filter((address) => isIP(address) !== 0)
    .slice(0, MAX_SERVERS)
    .map((address) => ({ address, port: 53 }));
  return servers.length === 0 ? [{ address: '127.0.0.1', port: 53 }] : servers;
}

/** The name servers that this machine is configured with. */
export const systemServers = (): DnsServer[] => parseResolvConf(readFileSync('/etc/resolv.conf', 'utf8'));
