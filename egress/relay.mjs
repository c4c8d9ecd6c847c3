/**
 * A separate program: `relay.mjs <socket> <command> [argument …]`. It runs in a network namespace that has only
 * loopback, forwards connections from a port of 127.0.0.1 to a Unix socket, and starts the command with
 * `--proxy-server=` set to that port. It exits when the command exits, with the same exit code.
 *
 * It is JavaScript, because each browser has one: with types to remove, Node.js takes 29 MB instead of 15 for it.
 */
import { spawn } from 'node:child_process';
import { connect, createServer } from 'node:net';

const [socketPath, command, ...args] = process.argv.slice(2);
if (socketPath === undefined || command === undefined)
  throw new Error('relay.mjs <socket> <command> [argument …]');

const server = createServer((near) => {
  const far = connect(socketPath);
  // Between two jobs no proxy listens on the Unix socket; connections are then closed.
  near.on('error', () => far.destroy()).on('close', () => far.destroy());
  far.on('error', () => near.destroy()).on('close', () => near.destroy());
  near.pipe(far).pipe(near);
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  const child = spawn(command, [...args, `--proxy-server=http://127.0.0.1:${address.port}`], {
    // File descriptors 3 and 4 carry the DevTools protocol.
    stdio: ['inherit', 'inherit', 'inherit', 'inherit', 'inherit'],
  });
  child.once('error', () => process.exit(127));
  child.once('exit', (code) => process.exit(code ?? 1));
});
