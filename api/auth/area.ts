import type Router from '@koa/router';
import { createGuard } from '../../egress/guard.ts';
import { createResolver } from '../../egress/resolver.ts';
import { createConnections } from '../../store/keys/connections.ts';
import { createDeviceLogins } from '../../store/keys/deviceLogins.ts';
import { limitConnectionChanges, limitKeyChanges } from '../account/changeLimit.ts';
import type { ApiCore } from '../core.ts';
import type { State } from '../http/context.ts';
import type { Mails } from '../mail/messages.ts';
import { createAuth } from './auth.ts';
import { createAuthenticate } from './authenticate.ts';
import { authRoutes, createForwardToAuth } from './authRoutes.ts';
import { createClientDocuments } from './clientDocuments.ts';
import { createConfirmPassword } from './confirmPassword.ts';
import { createDeviceLogin } from './deviceLogin.ts';
import { deviceRoutes } from './deviceRoutes.ts';
import { createKnownDevices } from './knownDevice.ts';
import { oauthRoutes } from './oauthRoutes.ts';
import { createOauthServer } from './oauthServer.ts';
import { createPasskeySteps } from './passkeySteps.ts';
import { createSendToAuth } from './sendToAuth.ts';
import { createSessions } from './sessions.ts';

interface Services {
  mails: Mails;
}

/** Creates users and their sessions, the OAuth server of agents, and the login of the command. */
export function createAuthArea(core: ApiCore, { mails }: Services) {
  const { env, log, store, keyring, accounts, apiKeys, limits } = core;
  const { attempts, pageLimit, onFailure, countChange } = limits;
  const { attention } = core;
  const publicUrl = env.PUBLIC_URL;
  const auth = createAuth({ env, store, accounts, keyring, mails, log });
  const sendToAuth = createSendToAuth(auth);
  const devices = createKnownDevices(keyring, env);
  const forwardToAuth = createForwardToAuth(auth, attempts, devices, mails.delivers);
  const connections = limitConnectionChanges(createConnections(store), countChange);
  const oauth = createOauthServer({
    send: sendToAuth,
    documents: createClientDocuments(
      createGuard({
        resolver: createResolver({ servers: env.DNS_SERVERS }),
        allow: env.EGRESS_ALLOW,
        ownPorts: core.ports,
      }),
    ),
    countDocument: attempts.countRegistration,
    markUnused: connections.markUnused,
    publicUrl,
  });
  const deviceLogin = createDeviceLogin({
    sendToAuth,
    logins: createDeviceLogins(store),
    apiKeys: limitKeyChanges(apiKeys, countChange),
    publicUrl,
  });
  return {
    auth,
    sessions: createSessions({ auth, accounts, env, pageLimit }),
    forwardToAuth,
    passkeySteps: createPasskeySteps(forwardToAuth, attempts, devices),
    confirmPassword: createConfirmPassword(auth, attempts, devices),
    oauth,
    connections,
    deviceLogin,
    routes(router: Router<State>) {
      authRoutes(router, forwardToAuth, pageLimit);
      oauthRoutes(router, { oauth, connections, limit: attempts, pageLimit, onFailure });
      deviceRoutes(router, {
        deviceLogin,
        apiKeys,
        authenticate: createAuthenticate({ apiKeys, onFailure, attention }),
        limit: attempts,
        pageLimit,
        onFailure,
      });
    },
  };
}
