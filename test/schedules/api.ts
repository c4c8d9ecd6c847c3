import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import { Client } from '@temporalio/client';
import pino from 'pino';
import { deliver } from '../../api/calls/answer.ts';
import { createCallWorkflow } from '../../api/calls/callWorkflow.ts';
import { createReplaySlots } from '../../api/calls/replaySlots.ts';
import { createRetention } from '../../api/calls/retention.ts';
import { createToolCallService } from '../../api/calls/run.ts';
import { createKeyring } from '../../platform/secrets/keyring.ts';
import { createVault } from '../../platform/secrets/vault.ts';
import { parseMasterKeys } from '../../schemas/envValues.ts';
import { ERRORS, ServiceError } from '../../schemas/errors.ts';
import httpRequest from '../../schemas/tools/http-request.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { createCalls } from '../../store/calls/calls.ts';
import { createPendingAnswers } from '../../store/calls/pendingAnswers.ts';
import type { ApiKeyDoc } from '../../store/keys/keyDocs.ts';
import { createLedger } from '../../store/ledger/ledger.ts';
import { createPaybacks } from '../../store/ledger/paybacks.ts';
import { openLease } from '../../store/mongo/lease.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import type { Intercept } from '../store/intercept.ts';
import type { VirtualClock } from './clock.ts';
import { connectTo } from './connection.ts';
import type { Temporal } from './temporal.ts';

const KEYRING = createKeyring(parseMasterKeys('test:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='));
const log = pino({ level: 'silent' });

/** A request of a caller, and what became of it. */
export interface CallRequest {
  accountId: string;
  /** Null: the request is from the dashboard. */
  key: ApiKeyDoc | null;
  method: 'GET' | 'POST';
  idempotencyKey: string | null;
  requestId: string;
  /** Whether building the response fails. */
  isUnsendable: boolean;
  /** The call that the API ran or replayed for it; null: it was refused before. */
  callId: string | null;
  status: number | null;
  /** Whether the caller has received the last byte of the response. */
  isComplete: boolean;
  /** Whether the connection has ended, or the response is complete. */
  isOver: boolean;
  api: string;
}

interface World {
  name: string;
  clock: VirtualClock;
  temporal: Temporal;
  /** The store of this process, whose operations are steps of the schedule. */
  store: Store;
  /** Runs a request to the Temporal server. */
  step: Intercept;
  /** Aborts when the API detects an outage of Temporal. */
  outage: AbortSignal;
  /** The request that is sent to a path. */
  requestAt(path: string): CallRequest;
}

/** The server's end of a connection. The operating system takes each write in two parts, which are steps of the schedule. */
class Connection extends Duplex {
  readonly #step: Intercept;
  readonly #received: Buffer[] = [];

  constructor(step: Intercept) {
    super();
    this.#step = step;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const middle = Math.ceil(chunk.length / 2);
    const take = (part: Buffer) =>
      this.#step('take bytes', async () => {
        if (!this.destroyed) this.#received.push(part);
      });
    void take(chunk.subarray(0, middle))
      .then(() => take(chunk.subarray(middle)))
      .then(done);
  }

  /** Returns the status of the response if its last byte has been taken; null before. */
  status(): number | null {
    const [head = '', body] = Buffer.concat(this.#received).toString().split('\r\n\r\n');
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN);
    return body?.length === length ? Number(head.slice(9, 12)) : null;
  }
}

/** An API process. It accepts calls over connections that exist only in memory. */
export interface Api {
  /** Opens a connection and sends a request. Returns a function that resets the connection. */
  send(request: CallRequest, path: string, step: Intercept): () => void;
}

function respond(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'Content-Length': Buffer.byteLength(text),
    'Content-Type': 'application/json',
  });
  response.end(text);
}

const refuse = (response: ServerResponse, { code }: ServiceError): void =>
  respond(response, ERRORS[code].status, { code });

/** Starts an API process. Its lease is open when the promise resolves. */
export async function startApi(world: World): Promise<Api> {
  const { name, clock, temporal, store, step, outage } = world;
  const ignore = () => undefined;
  const ledger = createLedger(store, ignore);
  const answers = createPendingAnswers(store, await openLease(store, ignore), ignore);
  const accounts = createAccounts(store);
  const client = new Client({ connection: connectTo(temporal, step), namespace: 'schedules' });
  const workflow = createCallWorkflow(client, ignore);
  const service = createToolCallService({
    attention: { spending: () => undefined },
    replaySlots: createReplaySlots(),
    registry: new Map([[httpRequest.name, httpRequest]]),
    workflow,
    calls: createCalls(store),
    accounts,
    files: { reference: async () => null },
    publicUrl: () => 'http://localhost',
    ledger,
    results: {
      write: () => Promise.reject(new Error('inputs are small')),
      read: () => Promise.reject(new Error('results are small')),
    },
    deleteInput: async () => undefined,
    answers,
    paybacks: createPaybacks({ store, ledger, accounts }),
    contents: { keep: async () => undefined },
    retention: createRetention({ workflow, store, limit: null, log }),
    reuse: { find: async () => null, keep: async () => undefined },
    outages: { refuse: ignore, nextOutage: () => outage },
    timeouts: { check: ignore, count: ignore },
    vault: createVault(KEYRING),
    keyring: KEYRING,
    receiptKeys: { digestKeysOf: () => ({ number: 1, input: '', output: '' }) },
    vaultUrl: 'http://127.0.0.1:1',
    limits: { RATE_LIMIT: null, POOL_WAIT: 80_000, CALLS_PER_POOL: 64 },
    metrics: { call: ignore },
    log,
  });

  async function handle({ url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = world.requestAt(url);
    const hangup = new AbortController();
    response.once('close', () => hangup.abort());
    try {
      const { accountId, key, method, idempotencyKey, requestId } = request;
      const account = await accounts.find(accountId);
      if (account === null) throw new ServiceError('invalid_api_key');
      const answer = await service.run({
        caller: { account, key },
        tool: httpRequest,
        input: { url: 'http://target.example/', method },
        idempotencyKey,
        max: Number.POSITIVE_INFINITY,
        requestId,
        ...(key === null && idempotencyKey !== null && { formId: idempotencyKey }),
        arrivedAt: performance.now(),
        hangup: hangup.signal,
      });
      request.callId = answer.callId;
      const { ending } = answer;
      await deliver(response, answer, () => {
        if ('error' in ending) refuse(response, ending.error);
        else if (request.isUnsendable) throw new ServiceError('internal');
        else respond(response, 200, { output: ending.output.toString() });
      });
    } catch (error) {
      refuse(response, error instanceof ServiceError ? error : new ServiceError('internal'));
    }
  }

  const server: Server = createServer((request, response) => {
    clock.run(name, () => void handle(request, response));
  });
  return {
    send: (request, path, take) =>
      clock.run(name, () => {
        const connection = new Connection(async (label, run) => {
          const taken = await take(label, run);
          request.status = connection.status();
          if (request.status !== null) {
            request.isComplete = true;
            request.isOver = true;
          }
          return taken;
        });
        server.emit('connection', connection);
        connection.push(`POST ${path} HTTP/1.1\r\nHost: schedules\r\nContent-Length: 0\r\n\r\n`);
        return () => {
          request.isOver = true;
          clock.run(name, () => connection.destroy());
        };
      }),
  };
}
