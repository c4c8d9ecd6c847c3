import {
  type ClientHttp2Session,
  connect,
  constants,
  createSecureServer,
  type Http2SecureServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { type ConnectionOptions, TLSSocket } from 'node:tls';
import { POOLS, type Pool } from '../../schemas/pools.ts';
import { frame, GrpcError, grpcHeaders, readBody, STATUS, sendMessage, sendStatus, unframe } from './grpc.ts';
import type { TaskTokens } from './taskTokens.ts';
import { createRules } from './temporalRules.ts';

/** The only gRPC service that the gate forwards. */
const SERVICE = '/temporal.api.workflowservice.v1.WorkflowService/';
/** Request headers that Temporal's server uses. Others, such as `authorization`, are not forwarded. */
const FORWARDED = [
  'grpc-timeout',
  'client-name',
  'client-version',
  'supported-server-versions',
  'temporal-namespace',
  'user-agent',
];
/** Milliseconds within which the server must respond; a poll takes at most 70 s. */
const RESPONSE_MS = 120_000;

interface Options {
  /** Certificate and private key of the gate, and the CA of the workers' certificates, in PEM. */
  certificates: { cert: Buffer; key: Buffer; ca: Buffer };
  /** `host:port` of the Temporal server, and how to connect to it; null: without TLS. */
  server: { address: string; tls: Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername'> | null };
  namespace: string;
  tokens: TaskTokens;
  /** Logs a refused request. */
  onRefusal(pool: string, method: string, reason: string): void;
}

interface TemporalGate {
  server: Http2SecureServer;
  /** Stops listening and closes every connection. */
  close(): void;
}

/** The pool that a client certificate names as its common name. */
function poolOf(socket: unknown): Pool | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  const { subject } = socket.getPeerCertificate();
  return POOLS.find((pool) => pool === subject?.CN);
}

/** Keeps one connection to the Temporal server, and opens another when it has ended. */
function createUpstream({ address, tls }: Options['server']) {
  let session: ClientHttp2Session | null = null;
  return {
    session(): ClientHttp2Session {
      if (session !== null && !session.closed && !session.destroyed) return session;
      const opened = connect(`${tls === null ? 'http' : 'https'}://${address}`, tls ?? {});
      // The requests of the session report the error.
      opened.on('error', () => undefined);
      session = opened;
      return opened;
    },
    /** Ends a connection that does not respond. */
    discard: (): void => session?.destroy(),
  };
}

/**
 * Creates the server through which the workers of a pool take tasks from their own queue, and do nothing else at Temporal.
 * It requires a client certificate.
 */
export function createTemporalGate(options: Options): TemporalGate {
  const { certificates, namespace, tokens, onRefusal } = options;
  const rules = createRules(namespace, tokens);
  const upstream = createUpstream(options.server);

  /** Sends a request to the Temporal server. */
  function forward(
    path: string,
    headers: IncomingHttpHeaders,
    message: Uint8Array,
    stream: ServerHttp2Stream,
  ): Promise<{ body: Buffer; trailers: IncomingHttpHeaders }> {
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown) =>
        reject(new GrpcError(STATUS.unavailable, 'the Temporal server cannot be reached', { cause }));
      const kept = Object.fromEntries(
        FORWARDED.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
      );
      const request = upstream.session().request({
        ...kept,
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      const cancel = () => request.close(constants.NGHTTP2_CANCEL);
      stream.once('close', cancel);
      let trailers: IncomingHttpHeaders = {};
      request.once('error', fail);
      request.setTimeout(RESPONSE_MS, () => {
        upstream.discard();
        fail(new Error('timeout'));
      });
      // A gRPC response without a message (Trailers-Only) carries its status in the headers instead of the trailers.
      request.once('response', (found) => Object.assign(trailers, grpcHeaders(found)));
      request.once('trailers', (found) => {
        trailers = { ...trailers, ...grpcHeaders(found) };
      });
      request.once('close', () => stream.off('close', cancel));
      readBody(request).then((body) => {
        if (trailers['grpc-status'] === undefined) fail(new Error('the response has no status'));
        else resolve({ body, trailers });
      }, fail);
      request.end(frame(message));
    });
  }

  async function serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    const path = headers[':path'] ?? '';
    const method = path.startsWith(SERVICE) ? path.slice(SERVICE.length) : '';
    const pool = poolOf(stream.session?.socket);
    try {
      const rule = Object.hasOwn(rules, method) ? rules[method] : undefined;
      if (pool === undefined) throw new GrpcError(STATUS.denied, 'the certificate names no pool');
      if (rule === undefined) throw new GrpcError(STATUS.denied, 'the gateway does not permit this method');
      const encoding = headers['grpc-encoding'];
      const message = await unframe(
        await readBody(stream),
        typeof encoding === 'string' ? encoding : undefined,
      );
      const { body, trailers } = await forward(path, headers, rule.request(message, pool), stream);
      if (stream.destroyed) return;
      if (body.length === 0)
        stream.respond(
          { ':status': 200, 'content-type': 'application/grpc', ...trailers },
          { endStream: true },
        );
      else {
        const response = await unframe(body, undefined);
        sendMessage(stream, rule.response?.(response, pool) ?? response, trailers);
      }
    } catch (error) {
      const { status, message } =
        error instanceof GrpcError ? error : new GrpcError(STATUS.unavailable, 'the request failed');
      if (status === STATUS.denied) onRefusal(pool ?? 'unknown', method || path, message);
      sendStatus(stream, status, message);
    }
  }

  const server = createSecureServer({ ...certificates, requestCert: true, rejectUnauthorized: true });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    void serve(stream, headers);
  });
  const sessions = new Set<Http2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => undefined);
    session.once('close', () => sessions.delete(session));
  });
  const close = (): void => {
    server.close();
    for (const session of sessions) session.destroy();
    upstream.discard();
  };
  return { server, close };
}
