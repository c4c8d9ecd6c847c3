import { hkdfSync } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { join } from 'node:path';
import type { TLSConfig } from '@temporalio/client';
import { addressTowards } from '../../egress/addressTowards.ts';
import { createGatewayServer } from '../../egress/gatewayServer.ts';
import { createGuard } from '../../egress/guard.ts';
import { ownPorts } from '../../egress/own.ts';
import { createResolver } from '../../egress/resolver.ts';
import { openCore } from '../../platform/core.ts';
import { createInternalServer } from '../../platform/internalServer.ts';
import { drain, isWildcard, listen } from '../../platform/listen.ts';
import { observeReadiness } from '../../platform/metricsRegistry.ts';
import { createReadiness } from '../../platform/readiness.ts';
import { reportReady } from '../../platform/reportReady.ts';
import { runMain } from '../../platform/runMain.ts';
import { temporalServer } from '../../platform/temporal/temporal.ts';
import { EnvError } from '../../schemas/env.ts';
import { mongodbPieces } from '../../store/calls/results.ts';
import { connectStore } from '../../store/mongo/connectStore.ts';
import { createPiecesServer } from './piecesServer.ts';
import { createTaskTokens } from './taskTokens.ts';
import { createTemporalGate } from './temporalGate.ts';

/** An id of the same form as those of pieces, which no piece has. */
const NO_PIECE = '00000000-0000-0000-0000-000000000000:0';

async function startListening(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  await once(server, 'listening');
}

/** Reads the certificates of the gateway. @throws EnvError */
function readCertificates(folder: string | null): { cert: Buffer; key: Buffer; ca: Buffer } {
  if (folder === null) throw new EnvError('GATEWAY_CERTIFICATES: must be set');
  const read = (name: string): Buffer => {
    try {
      return readFileSync(join(folder, name));
    } catch (error) {
      throw new EnvError(`GATEWAY_CERTIFICATES: cannot read ${name}`, { cause: error });
    }
  };
  return { cert: read('tls.crt'), key: read('tls.key'), ca: read('ca.crt') };
}

/** Converts TLS options of the Temporal SDK to those of Node. */
const nodeOptions = ({
  serverRootCACertificate: ca,
  clientCertPair: pair,
  serverNameOverride: servername,
}: TLSConfig) => ({
  ...(ca === undefined ? {} : { ca: Buffer.from(ca) }),
  ...(pair === undefined ? {} : { cert: Buffer.from(pair.crt), key: Buffer.from(pair.key) }),
  ...(servername === undefined ? {} : { servername }),
});

/**
 * Runs the gateway: the only process that workers without a network of their own (`GATEWAY_URL`) can reach. It is their way
 * to targets, to their task queue in Temporal, and to the storage of large results. It needs no master key.
 */
async function main(): Promise<void> {
  await using core = await openCore('gateway');
  const { env, log, metrics, stopping, open } = core;
  const certificates = readCertificates(env.GATEWAY_CERTIFICATES);
  const { address, tls } = temporalServer(env);
  const pieces = mongodbPieces(await connectStore(core));
  const readiness = createReadiness({ mongodb: () => pieces.get(NO_PIECE) });
  observeReadiness(metrics, readiness);
  const internal = open.adopt(
    createInternalServer({ readiness, metrics: () => metrics.metrics(), vault: null }),
    drain,
  );
  // The workers must not reach this port. Temporal is in the network of the other services, which the workers are not in.
  const internalHost = isWildcard(env.HOST) ? await addressTowards(address) : env.HOST;
  const internalUrl = await listen(internal, internalHost, env.INTERNAL_PORT);

  const guard = createGuard({
    resolver: createResolver({ servers: env.DNS_SERVERS }),
    allow: env.EGRESS_ALLOW,
    ownPorts: [
      ...ownPorts(env),
      env.GATEWAY_PORT,
      env.GATEWAY_TEMPORAL_PORT,
      Number(new URL(internalUrl).port),
    ],
  });
  const answerPieces = createPiecesServer(pieces, (error) =>
    log.error({ err: error }, 'a piece of a result cannot be stored or read'),
  );
  const targets = createGatewayServer(guard, (request, response) => {
    if (request.url !== '/ready') return answerPieces(request, response);
    void readiness().then(({ status }) => response.writeHead(status === 'ready' ? 200 : 503).end());
    return true;
  });
  open.defer(() => targets.close());
  const gate = createTemporalGate({
    certificates,
    server: {
      address,
      tls: tls === undefined ? null : nodeOptions(tls),
    },
    namespace: env.TEMPORAL_NAMESPACE,
    tokens: createTaskTokens(
      new Uint8Array(hkdfSync('sha256', certificates.key, '', 'utility-tools task tokens', 32)),
    ),
    onRefusal: (pool, method, reason) =>
      log.warn({ pool, method, reason }, 'a request to Temporal was refused'),
  });
  open.defer(() => gate.close());
  await startListening(targets.server, env.HOST, env.GATEWAY_PORT);
  await startListening(gate.server, env.HOST, env.GATEWAY_TEMPORAL_PORT);
  log.info({ internalUrl }, 'gateway is ready');
  reportReady();
  if (!stopping.aborted) await once(stopping, 'abort');
}

await runMain(main);
