/**
 * A separate program, which runs in a network namespace that contains only loopback: opens a port of 127.0.0.1, hands the
 * listening socket to the process that waits at the other end of the IPC channel (`receivePort`), prints the port and exits.
 *
 * It is JavaScript, because each browser starts one, and Node.js starts faster when it does not have to remove types.
 */
import { createServer } from 'node:net';

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  process.send('listening', server, (error) => {
    if (error) throw error;
    process.stdout.write(`${address.port}\n`, () => process.exit());
  });
});
