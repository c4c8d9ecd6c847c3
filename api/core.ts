import type { Client } from '@temporalio/client';
import { ownPorts } from '../egress/own.ts';
import type { Core } from '../platform/core.ts';
import { addReservedPorts } from '../platform/reservedPorts.ts';
import { type Keyring, loadKeyring } from '../platform/secrets/keyring.ts';
import { openClient } from '../platform/temporal/temporal.ts';
import { type Accounts, createAccounts } from '../store/accounts/accounts.ts';
import { createLists, type Lists } from '../store/accounts/lists.ts';
import { createRefusals } from '../store/calls/refusals.ts';
import { type ApiKeys, createApiKeys } from '../store/keys/apiKeys.ts';
import { ensureResource } from '../store/keys/connections.ts';
import { connectStore, untilStoreAnswers } from '../store/mongo/connectStore.ts';
import { ensureIndexes } from '../store/mongo/indexes.ts';
import type { Store } from '../store/mongo/mongo.ts';
import { openReceiptKeys, type ReceiptKeys } from '../store/receipts/receiptKeys.ts';
import { assertMasterKeys } from '../store/secrets/masterKeys.ts';
import { type Attention, createAttention } from './calls/attention.ts';
import { type ClientUses, createClientUses } from './http/clientUse.ts';
import { type ApiMetrics, createApiMetrics } from './http/metrics.ts';
import { createLimits, type Limits } from './limits.ts';
import { createEventDispatch } from './webhooks/eventDispatch.ts';

/** The dependencies that all areas of the API share. */
export interface ApiCore extends Core {
  readonly keyring: Keyring;
  readonly store: Store;
  readonly client: Client;
  readonly apiMetrics: ApiMetrics;
  readonly accounts: Accounts;
  readonly apiKeys: ApiKeys;
  readonly lists: Lists;
  readonly receiptKeys: ReceiptKeys;
  readonly limits: Limits;
  readonly clientUses: ClientUses;
  readonly attention: Attention;
  /** Ports of the installation, to which the egress guard permits no connection; grows while the process starts. */
  readonly ports: number[];
  /** Returns the URL of the API: PUBLIC_URL, or the address on which the API listens, which is known from the first request on. */
  publicUrl(): string;
  /** Adds the port of a server of this process to `ports`. */
  addPort(url: string): void;
  /** Sets the URL on which the API listens. */
  setBaseUrl(url: string): void;
}

/** Connects the API to MongoDB, whose indexes it makes, and to Temporal. @throws EnvError */
export async function createApiCore(core: Core): Promise<ApiCore> {
  const { env, log, open, onError } = core;
  const keyring = loadKeyring(env);
  const store = await connectStore(core, async (store) => {
    await assertMasterKeys(store, keyring);
    await ensureIndexes(store);
    await ensureResource(store);
  });
  const client = await openClient(core, keyring, false);
  store.onEvents(
    createEventDispatch(store, client, env, (error) =>
      log.warn({ err: error }, 'could not start the dispatch of events; the sweeper will'),
    ),
  );
  const ports = ownPorts(env);
  addReservedPorts(ports);
  const addPort = (url: string) => void ports.push(Number(new URL(url).port));
  const refusals = open.adopt(createRefusals(store, onError), (it) => it.flush());
  let publicUrl = env.PUBLIC_URL ?? '';
  return {
    ...core,
    keyring,
    store,
    client,
    apiMetrics: createApiMetrics(core.metrics),
    accounts: createAccounts(store),
    apiKeys: open.adopt(createApiKeys(store, onError), (it) => it.flush()),
    lists: createLists(store),
    receiptKeys: await untilStoreAnswers(core, () => openReceiptKeys(store, keyring)),
    limits: createLimits(store, env.RATE_LIMIT),
    clientUses: createClientUses(env.TRUST_PROXY),
    attention: createAttention(store, refusals, onError),
    ports,
    publicUrl: () => publicUrl,
    addPort,
    setBaseUrl(url) {
      addPort(url);
      if (publicUrl === '') publicUrl = url;
    },
  };
}
