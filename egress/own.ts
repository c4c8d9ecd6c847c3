import { networkInterfaces } from 'node:os';
import type { Env } from '../schemas/env.ts';
import { type Address, isWithin, parseAddress } from '../schemas/formats/address.ts';
import { readBlock } from './classify.ts';

/** How long the addresses of this machine's interfaces are cached, in ms. They change rarely; reading them takes 50 µs. */
const REFRESH_MS = 5_000;
const LOOPBACK = readBlock('127.0.0.0/8');

/** Tells whether an IP address belongs to this machine. */
export type IsOwn = (address: Address) => boolean;

/** Creates a function that recognises loopback addresses and the addresses of this machine's interfaces. */
export function createOwnAddresses(
  interfaces: () => readonly string[] = () =>
    Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address)),
  now: () => number = () => performance.now(),
): IsOwn {
  let own: Address[] = [];
  let readAt = -Infinity;
  return (address) => {
    if (now() - readAt > REFRESH_MS) {
      own = interfaces().flatMap((text) => parseAddress(text.split('%', 1).join()) ?? []);
      readAt = now();
    }
    return (
      isWithin(address, LOOPBACK) ||
      own.some(({ family, value }) => family === address.family && value === address.value)
    );
  };
}

/** The `host:port` of each member in a MongoDB connection string. `URL` cannot parse such a list of hosts. */
const mongodbHosts = (uri: string): string[] =>
  /^mongodb(?:\+srv)?:\/\/(?:[^@/]*@)?([^/?]*)/.exec(uri)?.[1]?.split(',') ?? [];

const portOf = (address: string, fallback: number): number =>
  Number(/:(\d+)$/.exec(address)?.[1] ?? fallback);

function webPort(text: string): number {
  const { host, protocol } = new URL(text);
  return portOf(host, protocol === 'https:' ? 443 : 80);
}

type PortVariables =
  | 'FAST_LANE_URLS'
  | 'PORT'
  | 'INTERNAL_PORT'
  | 'INTERNAL_ADVERTISE'
  | 'MONGODB_URI'
  | 'OTEL_EXPORTER_OTLP_ENDPOINT'
  | 'OWN_PORTS'
  | 'TEMPORAL_ADDRESS'
  | 'TEMPORAL_UI_URL';

/** The ports of this installation's processes, databases and trace collector, as far as environment variables name them. */
export function ownPorts(env: Pick<Env, PortVariables>): number[] {
  const { INTERNAL_ADVERTISE, MONGODB_URI, OTEL_EXPORTER_OTLP_ENDPOINT, TEMPORAL_ADDRESS, TEMPORAL_UI_URL } =
    env;
  return [
    env.PORT,
    env.INTERNAL_PORT,
    ...env.OWN_PORTS,
    ...[...env.FAST_LANE_URLS.values()].map(webPort),
    ...(INTERNAL_ADVERTISE === null ? [] : [webPort(INTERNAL_ADVERTISE)]),
    ...(OTEL_EXPORTER_OTLP_ENDPOINT === null ? [] : [webPort(OTEL_EXPORTER_OTLP_ENDPOINT)]),
    ...(TEMPORAL_UI_URL === null ? [] : [webPort(TEMPORAL_UI_URL)]),
    ...(TEMPORAL_ADDRESS === null ? [] : [portOf(TEMPORAL_ADDRESS, 7233)]),
    ...(MONGODB_URI === null ? [] : mongodbHosts(MONGODB_URI).map((host) => portOf(host, 27_017))),
  ];
}
