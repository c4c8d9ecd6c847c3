import { parseHost } from '../formats/hostname.ts';
import { parseWebUrl } from '../formats/url.ts';
import { defineTool } from '../tool.ts';

const milliseconds = (description: string) =>
  ({ type: ['number', 'null'], minimum: 0, description: `${description}, milliseconds.` }) as const;

export default defineTool({
  name: 'ping',
  title: 'Ping',
  description:
    'Probes a public host and reports round-trip statistics, by ICMP echo where the service is permitted to send it, ' +
    'otherwise by the time of TCP handshakes with `port`; `method` says which. Times are taken by the kernel or in a ' +
    'process of its own, so that other calls do not lengthen them. Probes start 250 ms apart, whether or ' +
    'not the previous one was answered. A TCP port that refuses the connection counts as a reply (`refused`). A host ' +
    'that never replies is a result with 100 % loss, not an error. If the host has several addresses, the first is ' +
    'probed, IPv4 before IPv6. Private, loopback and link-local addresses are `target_refused`.',
  price: 2,
  pool: 'network',
  limits: { workMs: 25_000 },
  input: {
    type: 'object',
    properties: {
      host: {
        type: 'string',
        minLength: 1,
        maxLength: 2048,
        description: 'Host name, IP address, or http or https URL, of which the host is used.',
      },
      count: { type: 'integer', minimum: 1, maximum: 10, default: 4, description: 'Number of probes.' },
      port: {
        type: 'integer',
        minimum: 1,
        maximum: 65_535,
        default: 443,
        description: 'TCP port to probe when ICMP is not available; a port in a URL is ignored.',
      },
      timeoutMs: {
        type: 'integer',
        minimum: 100,
        maximum: 5000,
        default: 2000,
        description: 'Time limit for the reply to each probe, in milliseconds.',
      },
    },
    required: ['host'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      resolvedIp: { type: 'string', description: 'Resolved IP address.' },
      method: { type: 'string', enum: ['icmp', 'tcp'], description: 'Method of the probes.' },
      sent: { type: 'integer', minimum: 1, description: 'Probes sent.' },
      received: { type: 'integer', minimum: 0, description: 'Probes answered.' },
      packetLossPercent: {
        type: 'number',
        minimum: 0,
        maximum: 100,
        description: 'Percentage of probes without a reply.',
      },
      minMs: milliseconds('Fastest round trip'),
      avgMs: milliseconds('Mean round trip'),
      maxMs: milliseconds('Slowest round trip'),
      jitter: milliseconds(
        'Mean absolute difference between consecutive replies (not the `mdev` of ping); null with fewer than two replies',
      ),
      attempts: {
        type: 'array',
        description: 'Results of the probes in sending order.',
        items: {
          type: 'object',
          properties: {
            sequence: { type: 'integer', minimum: 1, description: 'Number of the probe, from 1.' },
            success: { type: 'boolean', description: 'Whether there was a reply.' },
            latency: milliseconds('Round trip'),
            status: {
              type: 'string',
              enum: ['ok', 'refused', 'timeout', 'unreachable'],
              description:
                '`refused`: the TCP port is closed, which counts as a reply; `unreachable`: the network reported the host as unreachable.',
            },
          },
          required: ['sequence', 'success', 'latency', 'status'],
          additionalProperties: false,
        },
      },
    },
    required: [
      'resolvedIp',
      'method',
      'sent',
      'received',
      'packetLossPercent',
      'minMs',
      'avgMs',
      'maxMs',
      'jitter',
      'attempts',
    ],
    additionalProperties: false,
  },
  examples: [
    {
      input: { host: 'example.com', count: 3 },
      output: {
        resolvedIp: '93.184.215.14',
        method: 'icmp',
        sent: 3,
        received: 2,
        packetLossPercent: 33.333,
        minMs: 11.2,
        avgMs: 11.7,
        maxMs: 12.2,
        jitter: 1,
        attempts: [
          { sequence: 1, success: true, latency: 11.2, status: 'ok' },
          { sequence: 2, success: false, latency: null, status: 'timeout' },
          { sequence: 3, success: true, latency: 12.2, status: 'ok' },
        ],
      },
    },
  ],
  errors: ['host_not_found', 'target_refused', 'target_failed', 'target_timeout'],
  check({ host }) {
    const url = parseWebUrl(host);
    if (url.kind === 'url') return [];
    if (host.includes('//')) return [{ pointer: '/host', message: url.message }];
    const bare = parseHost(host);
    return bare.kind === 'invalid' ? [{ pointer: '/host', message: bare.message }] : [];
  },
});
