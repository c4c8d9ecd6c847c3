import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { drain, listen } from '../../platform/listen.ts';
import type { ApiCore } from '../core.ts';
import { answerClientError, answerConnect } from './clientError.ts';
import { addressLimit, type ConnectionLimits, limitConnections } from './connectionLimit.ts';
import { oneAtATime } from './requestQueue.ts';

const LIMITS = {
  /** Maximum size of the headers of a request in bytes; the default of Node.js. */
  maxHeaderSize: 16_384,
  /** Milliseconds from the start of a connection or request to the end of the headers. */
  headersTimeout: 20_000,
  /**
   * Milliseconds from the start of a request to the end of its body. The response may take longer, because a call
   * takes up to 100 s.
   */
  requestTimeout: 60_000,
  /**
   * Milliseconds for which an idle connection is kept open after a response. Longer than the 60 s of common proxies,
   * so that the proxy closes the connection first.
   */
  keepAliveTimeout: 65_000,
  /** Interval in milliseconds at which Node.js checks `headersTimeout` and `requestTimeout`. */
  connectionsCheckingInterval: 5000,
  /** Maximum number of concurrent connections. An idle connection takes about 10 KB. */
  maxConnections: 20_000,
  perAddress: null,
} satisfies ConnectionLimits & ServerOptions;

/**
 * Number of listeners of one event above which Node.js reports a leak. Limits, metrics and a stream add about a dozen for the
 * end of a response.
 */
const MAX_LISTENERS = 20;

type Limits = Omit<typeof LIMITS, 'perAddress'> & ConnectionLimits;

/**
 * Creates the HTTP server to which callers connect.
 *
 * @param limits overrides of the limits
 */
export function createPublicServer(listener: RequestListener, limits: Partial<Limits> = {}): Server {
  const { maxConnections, perAddress, ...options }: Limits = { ...LIMITS, ...limits };
  // The application refuses a request without a Host header with an error response of the usual format (problem.ts).
  const queued = oneAtATime((request, response) => {
    response.setMaxListeners(MAX_LISTENERS);
    listener(request, response);
  });
  const server = createServer({ ...options, requireHostHeader: false }, queued);
  limitConnections(server, { maxConnections, perAddress });
  server.on('clientError', answerClientError);
  server.on('connect', answerConnect);
  // Requests with an `Expect` header other than 100-continue are handled as usual, which RFC 9110 permits (section
  // 10.1.1); the refusal of Node.js would have no body.
  server.on('checkExpectation', queued);
  return server;
}

/** Listens on the port of the API. @returns the URL of the port */
export async function listenPublicly(core: ApiCore, listener: RequestListener): Promise<string> {
  const { env } = core;
  const server = createPublicServer(listener, { perAddress: env.TRUST_PROXY ? null : addressLimit(env) });
  const baseUrl = await listen(core.open.adopt(server, drain), env.HOST, env.PORT);
  core.setBaseUrl(baseUrl);
  return baseUrl;
}
