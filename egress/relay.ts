/**
 * A program of its own: `relay.ts <socket> <command> [argument …]`. Runs where there is no network but loopback, passes
 * what connects to a port of 127.0.0.1 on to a Unix socket, and starts the command with `--proxy-server=` naming that
 * port. It lives as long as the command does.
 */
import { spawn } from 'node:child_process';
import { connect, createServer } from 'node:net';

const [socketPath, command, ...args] = process.argv.slice(2);
if (socketPath === undefined || command === undefined)
  throw new Error('relay.ts <socket> <command> [argument …]');

const server = createServer((near) => {
  const far = connect(socketPath);
  // Between two jobs nobody listens there, and whatever still asks is hung up on.
  near.on('error', () => far.destroy()).on('close', () => far.destroy());
  far.on('error', () => near.destroy()).on('close', () => near.destroy());
  near.pipe(far).pipe(near);
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  const child = spawn(command, [...args, `--proxy-server=http://127.0.0.1:${address.port}`], {
    // 3 and 4 are the browser's remote control.
    stdio: ['inherit', 'inherit', 'inherit', 'inherit', 'inherit'],
  });
  child.once('error', () => process.exit(127));
  child.once('exit', (code) => process.exit(code ?? 1));
});
