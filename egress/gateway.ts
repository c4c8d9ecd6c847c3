import { request as startRequest } from 'node:http';
import type { Socket } from 'node:net';
import { type ErrorCode, ServiceError } from '../schemas/errors.ts';
import { type Limits, startClock } from './clock.ts';
import type { ConnectOptions } from './connect.ts';
import { FAILURE_KINDS, readSocketError, targetFailed } from './failure.ts';
import { CODE_HEADER, KIND_HEADER } from './gatewayHeaders.ts';
import type { HostAddresses } from './resolver.ts';
import type { Vetted } from './vet.ts';

/** A gateway (`gatewayServer.ts`) that resolves names and opens connections for a worker without a network of its own. */
export interface Gateway {
  /** Returns the addresses of a name that the gateway allows. @throws ServiceError as `Guard.vet` */
  addresses(name: string, port: number, limits: Limits): Promise<HostAddresses>;
  /** Opens a connection through the gateway, which vets the target again. @throws ServiceError as `Guard.connect` */
  connect(vetted: Vetted, options: ConnectOptions): Promise<Socket>;
}

interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** Set for `CONNECT`. */
  socket: Socket | null;
  body: string;
}

/** Maximum size in bytes of a list of addresses. */
const BODY_BYTES = 65_536;
const CODES: readonly ErrorCode[] = ['target_refused', 'host_not_found', 'target_timeout', 'invalid_input'];

/** Converts the headers of a failed request to the error that the gateway's guard threw. */
function toError({ headers }: Reply): ServiceError {
  const code = CODES.find((known) => known === headers[CODE_HEADER]);
  if (code !== undefined) return new ServiceError(code);
  const kind = FAILURE_KINDS.find((known) => known === headers[KIND_HEADER]);
  return kind === undefined ? new ServiceError('target_failed') : targetFailed(kind);
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** Creates the client of a gateway. It keeps no connection open between calls. */
export function createGateway(url: string): Gateway {
  const { hostname, port } = new URL(url);

  function ask(method: string, path: string, signal: AbortSignal): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const request = startRequest({ host: hostname, port, method, path, signal, agent: false });
      request.once('error', reject);
      request.once('connect', (response, socket, first) => {
        socket.on('error', () => undefined);
        if (first.length > 0) socket.unshift(first);
        const { statusCode: status = 0, headers } = response;
        resolve({ status, headers, socket, body: '' });
      });
      request.once('response', async (response) => {
        try {
          let body = '';
          for await (const chunk of response.setEncoding('utf8')) {
            body += String(chunk);
            if (body.length > BODY_BYTES) throw new Error('the response of the gateway is too large');
          }
          resolve({ status: response.statusCode ?? 0, headers: response.headers, socket: null, body });
        } catch (error) {
          reject(error);
        }
      });
      request.end();
    });
  }

  async function replyTo(method: string, path: string, limits: Limits): Promise<Reply> {
    using clock = startClock(limits);
    try {
      const reply = await ask(method, path, clock.signal);
      if (reply.status === 200) return reply;
      reply.socket?.destroy();
      throw toError(reply);
    } catch (error) {
      throw clock.explain(readSocketError(error));
    }
  }

  return {
    async addresses(name, targetPort, limits) {
      const { body } = await replyTo('GET', `/addresses/${name}:${targetPort}`, limits);
      const list: unknown = JSON.parse(body);
      if (!Array.isArray(list)) throw new ServiceError('target_failed');
      return { addresses: list.map(String), chain: [] };
    },

    async connect({ target }, { address, ...limits }) {
      const { host } = target;
      const name = address ?? (host.kind === 'name' ? host.name : host.address);
      const { socket } = await replyTo('CONNECT', `${bracketed(name)}:${target.port}`, limits);
      if (socket === null) throw new ServiceError('target_failed');
      return socket;
    },
  };
}
