import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { promisify } from 'node:util';
import { type Answer, decode, encode } from 'dns-packet';
import { LRUCache } from 'lru-cache';
import { CODES } from '../../helpers/dns.ts';
import { recordAt, recordsAt } from '../../helpers/json.ts';

// DNS server for the node of cluster.sh. Resolves `<service>.<namespace>.svc.cluster.local` to the address of the
// service, or to the addresses of its ready pods if it is headless. No other name exists.
//   names.ts ADDRESS KUBECTL

const [address = '', kubectl = ''] = process.argv.slice(2);
const run = promisify(execFile);
const REQUEST_MS = 10_000;
const CACHE_MS = 2_000;

const read = async (path: string): Promise<unknown> =>
  JSON.parse((await run(kubectl, ['get', '--raw', path], { timeout: REQUEST_MS })).stdout);

/** Returns the addresses of the service with this name, or null if there is none. */
async function lookUp(name: string): Promise<string[] | null> {
  const [, service, namespace] = /^([\w-]+)\.([\w-]+)\.svc\.cluster\.local$/.exec(name) ?? [];
  if (service === undefined) return null;
  const found = await read(`/api/v1/namespaces/${namespace}/services/${service}`).catch(() => null);
  if (found === null) return null;
  const { clusterIP } = recordAt(found, 'spec');
  if (clusterIP !== 'None') return [String(clusterIP)];
  const slices = await read(
    `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=kubernetes.io/service-name%3D${service}`,
  );
  return recordsAt(recordAt(slices).items)
    .flatMap(({ endpoints }) => recordsAt(endpoints))
    .filter((endpoint) => recordAt(endpoint, 'conditions').ready === true)
    .flatMap(({ addresses }) => (Array.isArray(addresses) ? addresses.map(String) : []));
}

const cache = new LRUCache<string, Promise<string[] | null>>({ max: 1000, ttl: CACHE_MS });
function cachedLookUp(name: string): Promise<string[] | null> {
  const known = cache.get(name) ?? lookUp(name);
  cache.set(name, known, { noUpdateTTL: true });
  return known;
}

const server = createSocket('udp4');
server.on('message', async (bytes, from) => {
  try {
    const { id = 0, questions = [] } = decode(bytes);
    const [question] = questions;
    if (question === undefined) return;
    const { name, type } = question;
    const found = await cachedLookUp(name.toLowerCase());
    const answers: Answer[] =
      type === 'A' ? (found ?? []).map((data) => ({ type: 'A', name, ttl: 1, data })) : [];
    const flags = 0x0580 | (found === null ? CODES.NXDOMAIN : CODES.NOERROR);
    const reply = encode({ type: 'response', id, flags, questions: [question], answers });
    server.send(reply, from.port, from.address);
  } catch (error) {
    console.error(error);
  }
});
server.bind(53, address);
