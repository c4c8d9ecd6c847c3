import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';

/**
 * Returns the address of this machine from which it reaches a server, that is the address of the network interface to which
 * the kernel routes packets for that server. Sends no packet to the server.
 *
 * @param server `host:port`
 * @throws Error when the name cannot be resolved or there is no route
 */
export async function addressTowards(server: string): Promise<string> {
  const { hostname } = new URL(`http://${server}`);
  const { address, family } = await lookup(hostname.replace(/^\[(.*)\]$/, '$1'));
  const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
  try {
    // Connecting a datagram socket only chooses the route. The port does not matter.
    socket.connect(9, address);
    await once(socket, 'connect');
    return socket.address().address;
  } finally {
    socket.close();
  }
}
