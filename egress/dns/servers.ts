import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { DnsServer } from '../../schemas/envValues.ts';

/** Maximum number of name servers that are used (MAXNS in resolv.conf(5)). */
const MAX_SERVERS = 3;

/** Parses the `nameserver` lines of a resolv.conf. Without any, the DNS server is 127.0.0.1 (resolv.conf(5)). */
export function parseResolvConf(text: string): DnsServer[] {
  const servers = text
    .split('\n')
    .map((line) => /^nameserver\s+(\S+)/.exec(line)?.[1] ?? '')
    .filter((address) => isIP(address) !== 0)
    .slice(0, MAX_SERVERS)
    .map((address) => ({ address, port: 53 }));
  return servers.length === 0 ? [{ address: '127.0.0.1', port: 53 }] : servers;
}

/** Returns the DNS servers that this machine is configured with. */
export const systemServers = (): DnsServer[] => parseResolvConf(readFileSync('/etc/resolv.conf', 'utf8'));
