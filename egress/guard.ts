import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { AllowEntry } from '../schemas/formats/allow.ts';
import { type Limits, startClock } from './clock.ts';
import { type ConnectOptions, connect as connectDirectly, type Dial, dialTcp } from './connect.ts';
import { type FetchOptions, fetchFollowing } from './fetch.ts';
import type { Gateway } from './gateway.ts';
import { reportWriteErrorsLast } from './http1/patientWrites.ts';
import { createOwnAddresses, type IsOwn } from './own.ts';
import { createPolicy } from './policy.ts';
import { type FilteringProxy, type ProxyOptions, startProxy } from './proxy.ts';
import type { Resolver } from './resolver.ts';
import { type GuardedResponse, readResponse, type Trail } from './response.ts';
import { createRoots, type RootOf } from './roots.ts';
import { type RequestOptions, sendRequest, writeHeaders } from './sendRequest.ts';
import { parseTarget, type Target, type TargetKind } from './target.ts';
import { certificateFaults, startTls, type TlsOptions } from './tls.ts';
import { splitRecords } from './tlsRecords.ts';
import { type Vetted, vet as vetDirectly } from './vet.ts';

export type { Socket, TLSSocket };

/** Opens all outbound connections whose target is chosen by an API caller or the owner of an account. */
export interface Guard {
  /** Parses a target, without network access. @throws ServiceError `invalid_input`, `target_refused` */
  parseTarget(input: string, kind: TargetKind): Target;
  /**
   * Resolves the host of a target once and checks that each of its addresses is allowed.
   *
   * @throws ServiceError `target_refused`, `host_not_found`, `target_failed`, `target_timeout`, `deadline_exceeded`; the
   *   signal's reason
   */
  vet(target: Target, limits: Limits): Promise<Vetted>;
  /** Opens a TCP connection, which the caller must destroy. @throws as `connect` of `egress/connect.ts` */
  connect(vetted: Vetted, options: ConnectOptions): Promise<Socket>;
  /** Starts TLS on a socket that `connect` returned. @throws the errors of `startTls` in `egress/tls.ts` */
  startTls(socket: Socket, vetted: Vetted, options: TlsOptions): Promise<TLSSocket>;
  /** Finds the root certificate that issued a certificate, among the roots that `startTls` trusts. */
  rootOf: RootOf;
  /**
   * Sends one HTTP request; redirects are returned, not followed.
   *
   * @throws ServiceError as `vet` and `connect`, and `invalid_input` for headers that cannot be sent
   */
  request(target: Target, options: RequestOptions): Promise<GuardedResponse>;
  /** Sends an HTTP request and follows its redirects. @throws as `request`; `target_refused` also for a redirect's target */
  fetch(target: Target, options: FetchOptions): Promise<GuardedResponse>;
  /** Starts an HTTP proxy that vets every target as `request` does. @throws as `startProxy` of `egress/proxy.ts` */
  proxy(options: ProxyOptions): Promise<FilteringProxy>;
}

export interface GuardOptions {
  resolver: Pick<Resolver, 'addresses'>;
  /** Hosts and addresses that may be reached although they are not public (`EGRESS_ALLOW`). Default: none. */
  allow?: readonly AllowEntry[];
  /** Ports on which processes of this installation listen, including its databases. */
  ownPorts: readonly number[];
  /** Root certificates in PEM to trust instead of Node's defaults. */
  ca?: readonly string[];
  /** Opens a TCP connection. Default: `dialTcp`. */
  dial?: Dial;
  /** Resolves names and opens connections instead of `resolver` and `dial`. It vets each target too. Default: none. */
  gateway?: Gateway | null;
  /** Recognises this machine's own addresses. */
  isOwn?: IsOwn;
}

/** Creates a guard. It keeps no socket or timer open between calls of its methods. */
export function createGuard({
  resolver,
  allow = [],
  ownPorts,
  ca,
  dial = dialTcp,
  gateway = null,
  isOwn = createOwnAddresses(),
}: GuardOptions): Guard {
  const policy = createPolicy({ allow, ownPorts, isOwn });

  const vet = (target: Target, limits: Limits): Promise<Vetted> =>
    vetDirectly(
      target,
      policy,
      gateway === null ? resolver : { addresses: (name, its) => gateway.addresses(name, target.port, its) },
      limits,
    );
  const connect = (vetted: Vetted, options: ConnectOptions): Promise<Socket> =>
    gateway === null ? connectDirectly(vetted, dial, options) : gateway.connect(vetted, options);

  async function send(target: Target, options: RequestOptions, trail: Trail): Promise<GuardedResponse> {
    const { url } = target;
    if (url === null) throw new TypeError('a bare host takes no HTTP request');
    const { maxBytes, overflow = 'source_too_large', verify = 'enforce' } = options;
    const headers = writeHeaders(url, options);
    const clock = startClock(options);
    let socket: Socket | undefined;
    clock.onEnd(() => socket?.destroy());
    try {
      const vetted = await vet(target, clock);
      socket = await connect(vetted, clock);
      reportWriteErrorsLast(socket);
      let certificateFault: string | null = null;
      let isCut = (): boolean => false;
      if (url.secure) {
        const records = splitRecords(socket);
        const secure = await startTls(records.stream, vetted, ca, {
          signal: clock.signal,
          deadline: clock.deadline,
          verify,
          observe: (starting) => {
            const hasClosed = records.watch(starting);
            isCut = () => !hasClosed();
          },
        });
        if (verify === 'report') {
          const { chain, host } = certificateFaults(secure, vetted);
          certificateFault = chain ?? host;
        }
        socket = secure;
      }
      const message = await sendRequest(socket, url, headers, { ...options, isCut });
      return readResponse({ message, url, clock, trail, certificateFault, maxBytes, overflow });
    } catch (error) {
      clock[Symbol.dispose]();
      socket?.destroy();
      throw clock.explain(error);
    }
  }

  return {
    parseTarget: (input, kind) => parseTarget(input, kind, policy),
    vet,
    connect,
    startTls: (socket, vetted, options) => startTls(socket, vetted, ca, options),
    rootOf: createRoots(ca),
    request: (target, options) => send(target, options, { startedAt: performance.now(), redirects: [] }),
    fetch: (target, options) => fetchFollowing(send, policy, target, options),
    proxy: (options) =>
      startProxy(async (url, limits) => {
        const target = parseTarget(url, { kind: 'url', pointer: '' }, policy);
        return connect(await vet(target, limits), limits);
      }, options),
  };
}
