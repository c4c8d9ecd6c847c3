import { createServer, type RequestListener, type Server } from 'node:http';
import { answerClientError, answerConnect } from './clientError.ts';

/** What a connection may take of the public server; Node's own default for headers is 16 KB. */
const LIMITS = {
  /** Bytes of all headers of a request. */
  maxHeaderSize: 16_384,
  /** Milliseconds from the start of a connection or request to the end of its headers. */
  headersTimeout: 20_000,
  /** Milliseconds from the start of a request to the end of its body. The answer may take longer: a call takes up to 100 s. */
  requestTimeout: 60_000,
  /** Milliseconds between an answer and the next request on its connection; above the 60 s of common proxies. */
  keepAliveTimeout: 65_000,
  /** Milliseconds between checks of the time-outs of headers and requests. */
  connectionsCheckingInterval: 5000,
  /** Connections at a time. An idle one takes about 10 KB; further ones are closed at once. */
  maxConnections: 20_000,
};

/**
 * The HTTP server that callers connect to.
 *
 * @param limits instead of the defaults, for tests
 */
export function createPublicServer(listener: RequestListener, limits: Partial<typeof LIMITS> = {}): Server {
  const { maxConnections, ...options } = { ...LIMITS, ...limits };
  // A missing Host is refused by the application (middleware/problem.ts), in the form of every other error.
  const server = createServer({ ...options, requireHostHeader: false }, listener);
  server.maxConnections = maxConnections;
  server.on('clientError', answerClientError);
  server.on('connect', answerConnect);
  // Expectations other than 100-continue may be ignored (RFC 9110, section 10.1.1); Node's own answer has no body.
  server.on('checkExpectation', listener);
  return server;
}
