import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { answerClientError } from '../../api/http/clientError.ts';
import { listen } from '../helpers/egress.ts';

/** What a server that waits 50 ms for the headers of a request sends on a connection on which this is sent. */
async function answerTo(t: ExecutionContext, sent: string): Promise<string> {
  const server = createServer({ headersTimeout: 50, requestTimeout: 50, connectionsCheckingInterval: 20 });
  server.on('clientError', answerClientError);
  t.teardown(() => server[Symbol.asyncDispose]());
  const socket = connect(await listen(server), '127.0.0.1');
  await once(socket, 'connect');
  if (sent !== '') socket.write(sent);
  return text(socket);
}

test('a connection on which nothing was sent is closed without a response', async (t) => {
  t.is(await answerTo(t, ''), '');
});

test('a request that does not arrive in time is refused', async (t) => {
  t.regex(await answerTo(t, 'GET / HTTP/1.1\r\nHost:'), /^HTTP\/1\.1 400 .*arrived too slowly/s);
});
