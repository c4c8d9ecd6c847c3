import { type NewKeyBody, newKeyBody } from '../../../../schemas/accountRows.ts';
import { invalidInput } from '../../../../schemas/errors.ts';
import type { NewConnection } from '../../../../store/keys/connections.ts';
import { newKey } from '../../../account/newKey.ts';
import { keyRow } from '../../../account/rows.ts';
import { actorOf } from '../../../auth/actor.ts';
import { CONNECT_PATH } from '../../../auth/oauthPlugin.ts';
import type { ConnectRequest } from '../../../auth/oauthServer.ts';
import { AUTH_PATH } from '../../../auth/sendToAuth.ts';
import type { Context } from '../../../http/context.ts';
import { createValidator } from '../../../http/validator.ts';
import { draftOfForm, draftOfKey, fieldsOf, suggestedDraft } from '../../components/keyFields.ts';
import { failureOf } from '../../frame/authRefusal.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { errorPage } from '../../frame/errorPage.ts';
import { attempt, formsMayLeadTo, goTo, sendPage, type Visit } from '../../frame/pageRouter.ts';
import { type ConnectDraft, connectPage } from './view.ts';

const EXPIRED = 'This request is invalid or has expired. Start again in the application.';

function refuse(ctx: Context, message: string): void {
  const { requestId } = ctx.state;
  sendPage(ctx, errorPage({ title: 'Not connected', failure: failureOf(message), requestId }), 400);
}

/** The origin of an address, or its scheme if the address belongs to a program and not to a server. */
function sourceOf(address: string): string {
  const { origin, protocol } = new URL(address);
  return origin === 'null' ? protocol : origin;
}

/** Registers the pages on which an owner connects an OAuth client. */
export function connectRoutes({ pages, core, oauth, connections, sessions }: Dashboard): void {
  const { registry } = core;
  const validate = createValidator()<NewKeyBody>(newKeyBody);
  const toolNames = [...registry.keys()];

  /** Whether the visitor is signed in to an account that has connected the client. */
  async function hasConnected(ctx: Context, clientId: string): Promise<boolean> {
    const user = await sessions.user(ctx);
    return user !== null && (await connections.ofClient(user.accountId, clientId)) !== null;
  }

  pages.public('get', `${AUTH_PATH}/oauth2/authorize`, async (ctx) => {
    const result = await oauth.authorize(ctx);
    if ('page' in result) return goTo(ctx, result.page);
    const { refused, client } = result;
    // Any client can register, with any address. Without this check, a link to this service could lead to a page of
    // someone else (RFC 9700, section 4.11.2).
    if (client !== null && (await hasConnected(ctx, client.id))) return goTo(ctx, client.errorUrl);
    refuse(ctx, refused);
  });

  /** Converts the form to a connection. @throws ServiceError invalid_input */
  function connectionOf(accountId: string, request: ConnectRequest, draft: ConnectDraft): NewConnection {
    const scopes = request.scopes.filter((scope) => draft.scopes.includes(scope));
    const [scope] = scopes;
    if (scope === undefined)
      throw invalidInput([{ pointer: '/scopes', message: 'must have at least one selected' }]);
    const fields = fieldsOf({ ...draft, name: request.clientName });
    const limits =
      scope === 'tools' ? fields : { ...fields, tools: null, dailyBudget: null, monthlyBudget: null };
    const key = newKey(accountId, validate({ ...limits, scopes: [scope] }), registry);
    return { ...key, client: { id: request.clientId, account: scopes.includes('account') } };
  }

  async function draftFor({ viewer }: Visit, request: ConnectRequest): Promise<ConnectDraft> {
    const current = await connections.ofClient(viewer.account._id, request.clientId);
    if (current === null) return { ...suggestedDraft(new Date()), scopes: request.scopes };
    const row = keyRow(current, viewer.account);
    const scopes = [...row.scopes, ...(current.client?.account ? ['account'] : [])];
    return { ...draftOfKey(row), scopes };
  }

  pages.get(
    CONNECT_PATH,
    async (visit) => {
      const { ctx, viewer } = visit;
      const request = await oauth.read(ctx);
      if (request === null) return refuse(ctx, EXPIRED);
      formsMayLeadTo(ctx, sourceOf(request.redirectUri));
      const draft = await draftFor(visit, request);
      sendPage(ctx, connectPage({ viewer, request, draft, toolNames, query: ctx.search }));
    },
    { returnsAfterSignIn: true },
  );

  pages.post(CONNECT_PATH, async ({ ctx, viewer, form }) => {
    const request = await oauth.read(ctx);
    if (request === null) return refuse(ctx, EXPIRED);
    formsMayLeadTo(ctx, sourceOf(request.redirectUri));
    if (form.get('decision') !== 'connect') return goTo(ctx, await oauth.deny(ctx));
    const draft = { ...draftOfForm(form), scopes: form.getAll('scopes') };
    const connect = async () => {
      const accountId = viewer.account._id;
      const connection = connectionOf(accountId, request, draft);
      const { _id: id } = await connections.approve(connection, actorOf(ctx));
      const scopes = request.scopes.filter((scope) => draft.scopes.includes(scope));
      goTo(ctx, await oauth.approve(ctx, scopes, id));
    };
    await attempt(ctx, connect, (failure) =>
      connectPage({ viewer, request, draft, toolNames, query: ctx.search, failure }),
    );
  });
}
