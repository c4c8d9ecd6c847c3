/** The address blocks that are not public, as data for `classify.ts`. */
export interface Ranges {
  /** IPv4 blocks that are refused; all others are public. */
  ipv4: readonly string[];
  /** The only IPv6 blocks that contain public addresses. */
  ipv6Public: readonly string[];
  /** IPv6 blocks within `ipv6Public` that are refused. */
  ipv6: readonly string[];
}

/**
 * Every row of the IANA special-purpose address registries (RFC 6890, as of RFC 9637), reachable or not, and the
 * multicast space of RFC 5771.
 * https://www.iana.org/assignments/iana-ipv4-special-registry, https://www.iana.org/assignments/iana-ipv6-special-registry
 */
export const RANGES: Ranges = {
  ipv4: [
    '0.0.0.0/8', // this network
    '10.0.0.0/8', // private use
    '100.64.0.0/10', // carrier-grade NAT
    '127.0.0.0/8', // loopback
    '168.63.129.16/32', // Azure's metadata service, at a public address
    '169.254.0.0/16', // link-local, with the metadata services of most clouds
    '172.16.0.0/12', // private use
    '192.0.0.0/24', // IETF protocol assignments
    '192.0.2.0/24', // documentation
    '192.31.196.0/24', // DNS servers of AS112
    '192.52.193.0/24', // Automatic Multicast Tunneling
    '192.88.99.0/24', // 6to4 relays
    '192.168.0.0/16', // private use
    '192.175.48.0/24', // DNS servers of AS112
    '198.18.0.0/15', // benchmark tests of network devices
    '198.51.100.0/24', // documentation
    '203.0.113.0/24', // documentation
    '224.0.0.0/3', // multicast, reserved, broadcast
  ],
  // The block that global unicast addresses are assigned from (RFC 4291). Loopback, unique local, link-local, multicast
  // and NAT64 lie outside; so do the prefixes that embed an IPv4 address, except 6to4 and Teredo.
  ipv6Public: ['2000::/3'],
  ipv6: [
    '2001::/23', // IETF protocol assignments, Teredo, ORCHID
    '2001:db8::/32', // documentation
    '2002::/16', // 6to4
    '2620:4f:8000::/48', // DNS servers of AS112
    '3fff::/20', // documentation
  ],
};

/**
 * The blocks that `RANGES` refuses, as pairs of first and last address, for `createSecondClassifier`. An address must be
 * public by both tables, so that a mistake in only one of them can only refuse too much.
 */
export const REFUSED_SPANS: readonly (readonly [first: string, last: string])[] = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  ['168.63.129.16', '168.63.129.16'],
  ['169.254.0.0', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.31.196.0', '192.31.196.255'],
  ['192.52.193.0', '192.52.193.255'],
  ['192.88.99.0', '192.88.99.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['192.175.48.0', '192.175.48.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '255.255.255.255'],
  ['::', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['4000::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
];

/** Blocks that EGRESS_ALLOW cannot open. */
export const NEVER: readonly string[] = [
  // Metadata services of cloud providers, which give credentials to any client.
  '169.254.169.254/32', // metadata service of most clouds
  '169.254.169.253/32', // DNS server in Amazon VPCs
  '169.254.170.2/32', // metadata of Amazon ECS containers
  '169.254.170.23/32', // credentials of Amazon EKS pods
  '169.254.0.23/32', // Tencent Cloud's metadata service
  '169.254.42.42/32', // Scaleway's metadata service
  '168.63.129.16/32', // Azure's metadata service
  '100.100.100.200/32', // Alibaba Cloud's metadata service
  '192.0.0.192/32', // Oracle Cloud's metadata service
  'fd00:ec2::254/128', // Amazon EC2's metadata service
  'fd00:ec2::253/128', // DNS server in Amazon VPCs
  'fd00:ec2::23/128', // credentials of Amazon EKS pods
  'fd20:ce::254/128', // Google Cloud's metadata service
  'fd00:42::42/128', // Scaleway's metadata service
  'fd00:a9fe:a9fe::1/128', // Akamai's metadata service
  'fe80::a9fe:a9fe/128', // OpenStack's metadata service
  // "This host": a connection to one of these addresses reaches loopback.
  '0.0.0.0/8',
  '::/128',
  // IPv6 addresses that embed an IPv4 address, which can be any of the addresses above.
  '::ffff:0:0/96', // IPv4-mapped
  '::ffff:0:0:0/96', // IPv4-translated
  '64:ff9b::/96', // NAT64
  '64:ff9b:1::/48', // NAT64, local
  '2001::/32', // Teredo
  '2002::/16', // 6to4
];
