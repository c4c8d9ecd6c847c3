import { parseHost } from '../formats/hostname.ts';
import { parseWebUrl } from '../formats/url.ts';
import { defineTool } from '../tool.ts';

const milliseconds = (description: string, absent: string) =>
  ({
    type: ['number', 'null'],
    minimum: 0,
    description: `${description} in milliseconds; null ${absent}.`,
  }) as const;

export default defineTool({
  name: 'ping',
  title: 'Ping',
  description:
    'Probes a public host and reports round-trip statistics, by ICMP echo where the service is permitted to send it, ' +
    'otherwise by TCP handshakes with `port`; `method` says which. Times are measured by the kernel or in a separate ' +
    'process, so that other calls do not lengthen them. Probes start 250 ms apart, whether or ' +
    'not the previous probe was answered. A TCP port that refuses the connection counts as a reply (`refused`). A host ' +
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
        description: 'Host name or IP address, or an http or https URL, of which only the host is used.',
      },
      count: { type: 'integer', minimum: 1, maximum: 10, default: 4, description: 'Number of probes.' },
      port: {
        type: 'integer',
        minimum: 1,
        maximum: 65_535,
        default: 443,
        description: 'TCP port to probe if ICMP is not available. The port of a URL in `host` is ignored.',
      },
      timeoutMs: {
        type: 'integer',
        minimum: 100,
        maximum: 5000,
        default: 2000,
        description: 'Maximum time to wait for the reply to a probe, in milliseconds.',
      },
    },
    required: ['host'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      resolvedIp: { type: 'string', description: 'IP address that was probed.' },
      method: {
        type: 'string',
        enum: ['icmp', 'tcp'],
        description: 'How the host was probed: `icmp` for ICMP echo, `tcp` for TCP handshakes.',
      },
      sent: { type: 'integer', minimum: 1, description: 'Number of probes sent.' },
      received: { type: 'integer', minimum: 0, description: 'Number of probes that were answered.' },
      packetLossPercent: {
        type: 'number',
        minimum: 0,
        maximum: 100,
        description: 'Percentage of probes without a reply.',
      },
      minMs: milliseconds('Shortest round-trip time', 'if there was no reply'),
      avgMs: milliseconds('Mean round-trip time', 'if there was no reply'),
      maxMs: milliseconds('Longest round-trip time', 'if there was no reply'),
      jitter: milliseconds(
        'Mean absolute difference between consecutive round-trip times (not the `mdev` of the ping program)',
        'if there were fewer than two replies',
      ),
      attempts: {
        type: 'array',
        description: 'Results of the probes in sending order.',
        items: {
          type: 'object',
          properties: {
            sequence: { type: 'integer', minimum: 1, description: 'Number of the probe, from 1.' },
            success: { type: 'boolean', description: 'Whether there was a reply.' },
            latency: milliseconds('Round-trip time', 'if there was no reply'),
            status: {
              type: 'string',
              enum: ['ok', 'refused', 'timeout', 'unreachable'],
              description:
                'Outcome of the probe. `refused`: the TCP port is closed, which counts as a reply; `unreachable`: the network reported that the host is unreachable.',
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
