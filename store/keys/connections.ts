import { createHash, randomUUID } from 'node:crypto';
import type { ClientSession } from 'mongodb';
import { ServiceError } from '../../schemas/errors.ts';
import type { Actor } from '../accounts/securityLog.ts';
import { isDuplicate, type Store } from '../mongo/mongo.ts';
import { isLive, liveAt, type NewKey, pruneKeys, pruneSpend, reportKey, revokeKey } from './apiKeys.ts';
import type { ApiKeyDoc, ConnectedClient } from './keyDocs.ts';

/** Prefixes of tokens, by which leaked tokens are recognised. */
export const ACCESS_TOKEN_PREFIX = 'ut_at_';
export const REFRESH_TOKEN_PREFIX = 'ut_rt_';
/** Form of an access token: `ACCESS_TOKEN_PREFIX` and letters that the plugin generates. */
const ACCESS_TOKEN = /^ut_at_[A-Za-z]{32}$/;
/** Form of a refresh token. */
export const REFRESH_TOKEN = /^ut_rt_[A-Za-z]{32}$/;
/** The resource for which access tokens are valid: the MCP endpoint, under whichever address a client knows it. */
export const MCP_RESOURCE = 'urn:utility-tools:mcp';
/** Maximum number of live connections per account. */
const MAX_CONNECTIONS = 50;
/** How long a client that no owner has connected is kept. */
const UNUSED_CLIENT_MS = 7 * 86_400_000;
const CONNECTIONS = { 'client.id': { $exists: true } } as const;

/** Hashes a token without its prefix. SHA-256 suffices: the plugin generates 182 random bits. */
export const hashOauthToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/**
 * Creates the record of the resource that the OAuth plugin reads. The plugin would create it itself, but only as long as
 * the process does not lose its connection to MongoDB at that moment.
 */
export async function ensureResource({ db }: Pick<Store, 'db'>): Promise<void> {
  const row = { name: 'MCP endpoint', disabled: false, createdAt: new Date() };
  await db
    .collection('oauthResources')
    .updateOne({ identifier: MCP_RESOURCE }, { $setOnInsert: row }, { upsert: true });
}

export interface NewConnection extends Omit<NewKey, 'id'> {
  client: ConnectedClient;
}

/**
 * Connections: the permission of an OAuth client to call tools for an account. A connection is stored as a key without a
 * secret, so that limits, spend, last use and revocation are those of keys. Its access and refresh tokens have its id as
 * their `referenceId`.
 */
export interface Connections {
  /** Returns the live connection of an access token that is valid for the MCP endpoint; else null. Not cached. */
  authenticate(accessToken: string): Promise<ApiKeyDoc | null>;
  /** Makes MongoDB delete a new client unless an owner connects it within some days. */
  markUnused(clientId: string): Promise<void>;
  /** Whether the token is unknown, or belongs to a live connection. The plugin checks the token itself. */
  mayRefresh(refreshToken: string): Promise<boolean>;
  /**
   * Creates the connection of a client, or changes the limits of the one that it has, which keeps its spend.
   *
   * @throws ServiceError limit_reached, not_found
   */
  approve(connection: NewConnection, actor: Actor): Promise<ApiKeyDoc>;
  /** Lists the live connections, newest first. */
  list(accountId: string): Promise<ApiKeyDoc[]>;
  /** The connection that the client has, even if it has expired; null if it has none or it was revoked. */
  ofClient(accountId: string, clientId: string): Promise<ApiKeyDoc | null>;
  /** Revokes a connection and deletes its tokens. @throws ServiceError not_found, also for connections of other accounts */
  revoke(accountId: string, id: string, actor: Actor): Promise<void>;
}

/** Lets the clients without a connection expire: MongoDB deletes them after some days unless an owner connects them. */
export async function releaseClients(
  { apiKeys, oauthClients }: Store,
  clientIds: readonly string[],
  session?: ClientSession,
): Promise<void> {
  const options = { ...(session && { session }) };
  const used = await apiKeys.distinct(
    'client.id',
    { 'client.id': { $in: [...clientIds] }, revokedAt: null },
    options,
  );
  const unused = clientIds.filter((id) => !used.includes(id));
  const unusedUntil = new Date(Date.now() + UNUSED_CLIENT_MS);
  await oauthClients.updateMany({ clientId: { $in: unused } }, { $set: { unusedUntil } }, options);
}

export function createConnections(store: Store): Connections {
  const { apiKeys, oauthAccessTokens, oauthRefreshTokens, oauthConsents, oauthClients } = store;

  const live = async (id: unknown): Promise<ApiKeyDoc | null> => {
    if (typeof id !== 'string') return null;
    const row = await apiKeys.findOne({ _id: id, ...CONNECTIONS });
    return row !== null && isLive(row, new Date()) ? row : null;
  };

  const ofClient = (accountId: string, clientId: string, session?: ClientSession) =>
    apiKeys.findOne({ accountId, 'client.id': clientId, revokedAt: null }, { ...(session && { session }) });

  /**
   * Makes a connection live with `write`, within the limit of an account. The changed account makes concurrent requests
   * conflict, so that the count stays exact.
   */
  async function addLive(
    accountId: string,
    session: ClientSession,
    write: () => Promise<unknown>,
  ): Promise<void> {
    const { matchedCount } = await store.accounts.updateOne(
      { _id: accountId, closedAt: { $exists: false } },
      { $inc: { keysMade: 1 } },
      { session },
    );
    if (matchedCount === 0) throw new ServiceError('not_found');
    await write();
    const count = await apiKeys.countDocuments(
      { accountId, ...CONNECTIONS, ...liveAt(new Date()) },
      { session },
    );
    if (count > MAX_CONNECTIONS)
      throw new ServiceError('limit_reached', {
        detail: `The account has reached its limit of ${MAX_CONNECTIONS} connected clients. Revoke one first.`,
      });
    await pruneSpend(store, accountId, session);
    await pruneKeys(store, accountId, session);
  }

  const approveOnce = (connection: NewConnection, actor: Actor) =>
    store.transaction(async (session) => {
      const { accountId, client } = connection;
      await oauthClients.updateOne({ clientId: client.id }, { $unset: { unusedUntil: '' } }, { session });
      const current = await ofClient(accountId, client.id, session);
      if (current === null) {
        const id = randomUUID();
        const row: ApiKeyDoc = {
          _id: `con_${id}`,
          ...connection,
          hash: `con_${id}`,
          prefix: `con_${id.slice(0, 5)}`,
          createdAt: new Date(),
          lastUsedAt: null,
          revokedAt: null,
        };
        await addLive(accountId, session, () => apiKeys.insertOne(row, { session }));
        await reportKey(store, row, 'api_key.created', actor, session);
        return row;
      }
      const row = { ...current, ...connection };
      const change = () => apiKeys.updateOne({ _id: current._id }, { $set: connection }, { session });
      if (isLive(current, new Date())) await change();
      else await addLive(accountId, session, change);
      await reportKey(store, row, 'api_key.changed', actor, session);
      return row;
    });

  return {
    async authenticate(accessToken) {
      if (!ACCESS_TOKEN.test(accessToken)) return null;
      const hash = hashOauthToken(accessToken.slice(ACCESS_TOKEN_PREFIX.length));
      const token = await oauthAccessTokens.findOne({ token: hash });
      if (token === null || token.expiresAt <= new Date()) return null;
      if (token.revoked != null || token.confirmation != null) return null;
      if (!token.resources?.includes(MCP_RESOURCE)) return null;
      const row = await live(token.referenceId);
      return row?.client?.id === token.clientId ? row : null;
    },

    markUnused: (clientId) => releaseClients(store, [clientId]),

    async mayRefresh(refreshToken) {
      if (!REFRESH_TOKEN.test(refreshToken)) return true;
      const hash = hashOauthToken(refreshToken.slice(REFRESH_TOKEN_PREFIX.length));
      const token = await oauthRefreshTokens.findOne({ token: hash });
      return token === null || (await live(token.referenceId)) !== null;
    },

    async approve(connection, actor) {
      try {
        return await approveOnce(connection, actor);
      } catch (error) {
        // Another request has just created the connection of this client.
        if (!isDuplicate(error)) throw error;
        return approveOnce(connection, actor);
      }
    },

    list: (accountId) =>
      apiKeys
        .find({ accountId, ...CONNECTIONS, ...liveAt(new Date()) })
        .sort({ createdAt: -1, _id: -1 })
        .toArray(),

    ofClient: (accountId, clientId) => ofClient(accountId, clientId),

    revoke: (accountId, id, actor) =>
      store.transaction(async (session) => {
        const row = await revokeKey(store, { _id: id, accountId, ...CONNECTIONS }, actor, session);
        if (row === null && (await apiKeys.countDocuments({ _id: id, accountId, ...CONNECTIONS })) === 0)
          throw new ServiceError('not_found');
        await oauthAccessTokens.deleteMany({ referenceId: id }, { session });
        await oauthRefreshTokens.deleteMany({ referenceId: id }, { session });
        await oauthConsents.deleteMany({ referenceId: id }, { session });
        if (row?.client !== undefined) await releaseClients(store, [row.client.id], session);
      }),
  };
}
