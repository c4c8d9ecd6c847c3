import { createServer, type RequestListener, type Server } from 'node:http';
import { answerClientError, answerConnect } from './clientError.ts';

/** Limits of the public server. */
const LIMITS = {
  /** Total bytes of the headers of a request; Node's default. */
  maxHeaderSize: 16_384,
  /** Milliseconds from the start of a connection or request to the end of the headers. */
  headersTimeout: 20_000,
  /** Milliseconds from the start of a request to the end of its body. The response may take longer: a call takes up to 100 s. */
  requestTimeout: 60_000,
  /** Milliseconds between a response and the next request on the connection; above the 60 s of common proxies. */
  keepAliveTimeout: 65_000,
  /** Milliseconds between checks of `headersTimeout` and `requestTimeout`. */
  connectionsCheckingInterval: 5000,
  /** Concurrent connections. An idle one takes about 10 KB; further ones are closed at once. */
  maxConnections: 20_000,
};

/**
 * Creates the HTTP server that callers connect to.
 *
 * @param limits overrides, for tests
 */
export function createPublicServer(listener: RequestListener, limits: Partial<typeof LIMITS> = {}): Server {
  const { maxConnections, ...options } = { ...LIMITS, ...limits };
  // The application refuses a missing Host as a problem (problem.ts).
  const server = createServer({ ...options, requireHostHeader: false }, listener);
  server.maxConnections = maxConnections;
  server.on('clientError', answerClientError);
  server.on('connect', answerConnect);
  // Expectations other than 100-continue may be ignored (RFC 9110, section 10.1.1); Node's own response has no body.
  server.on('checkExpectation', listener);
  return server;
}
