// Runs inside a container: tries to reach each address of a list, and prints the outcomes as JSON, in the same order.
// `connected` means that a TCP connection was opened, `routed` that packets have a way to the address (none is sent),
// `resolved` that a name was looked up.
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { connect } from 'node:net';

const TIMEOUT_MS = 4000;

/** @param {{ host: string, port: number }} to */
const tcp = ({ host, port }) =>
  new Promise((resolve) => {
    const socket = connect({ host, port, timeout: TIMEOUT_MS });
    const end = (outcome) => {
      socket.destroy();
      resolve(outcome);
    };
    socket.once('connect', () => end('connected'));
    socket.once('timeout', () => end('timeout'));
    socket.once('error', (error) => end(error.code));
  });

/** @param {{ host: string, port: number }} to */
const route = ({ host, port }) =>
  new Promise((resolve) => {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    const end = (outcome) => {
      socket.close();
      resolve(outcome);
    };
    socket.once('error', (error) => end(error.code));
    // Of a datagram socket, this only chooses the route.
    socket.connect(port, host, () => end('routed'));
  });

/** @param {{ host: string, name: string }} to the name server and the name */
const dns = async ({ host, name }) => {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 });
  resolver.setServers([host]);
  return await resolver.resolve4(name).then(
    () => 'resolved',
    (error) => error.code,
  );
};

const kinds = { tcp, route, dns };
const attempts = JSON.parse(process.argv[1] ?? '[]');
console.log(JSON.stringify(await Promise.all(attempts.map((attempt) => kinds[attempt.kind](attempt)))));
