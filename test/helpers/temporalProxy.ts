import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { freePort } from '../../dev/ports.ts';

/** A proxy between the service and Temporal, which counts the gRPC requests. */
export interface TemporalProxy {
  /** `host:port` */
  address: string;
  /** Number of requests that have begun, by the name of the method. */
  counts: Map<string, number>;
  close(): void;
}

/** Forwards a stream in both directions, with the trailers in which gRPC sends its status. */
function forward(
  upstream: ClientHttp2Session,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): void {
  const onward = upstream.request(headers);
  let trailers = {};
  onward.on('response', (answer, flags) => {
    const endStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    if (!stream.destroyed) stream.respond(answer, { endStream, waitForTrailers: !endStream });
    if (!endStream) onward.pipe(stream);
  });
  onward.on('trailers', (sent) => {
    trailers = sent;
  });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.pipe(onward);
  stream.on('error', () => undefined).on('aborted', () => onward.close(constants.NGHTTP2_CANCEL));
  onward.on('error', () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
}

/** Starts a proxy in front of a Temporal server. @param upstream `host:port` */
export async function startTemporalProxy(upstream: string): Promise<TemporalProxy> {
  const counts = new Map<string, number>();
  const sessions = new Set<Http2Session>();
  const server = createServer();
  server.on('session', (session) => {
    const onward = connect(`http://${upstream}`);
    for (const it of [session, onward]) {
      sessions.add(it.on('error', () => undefined));
      it.once('close', () => sessions.delete(it));
    }
    session.once('close', () => onward.close());
    session.on('stream', (stream, headers) => {
      const method = String(headers[':path']).split('/').at(-1) ?? '';
      counts.set(method, (counts.get(method) ?? 0) + 1);
      forward(onward, stream, headers);
    });
  });
  const port = await freePort();
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return {
    address: `127.0.0.1:${port}`,
    counts,
    close() {
      server.close();
      for (const session of sessions) session.destroy();
    },
  };
}
