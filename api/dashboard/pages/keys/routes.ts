import { randomUUID } from 'node:crypto';
import {
  type KeyChangeBody,
  type KeyRotationBody,
  type KeyRow,
  keyChangeBody,
  keyRotationBody,
  type NewKeyBody,
  newKeyBody,
} from '../../../../schemas/accountRows.ts';
import type { ToolDefinition } from '../../../../schemas/tool.ts';
import { isDuplicate } from '../../../../store/mongo/mongo.ts';
import { actorOf } from '../../../auth/actor.ts';
import type { Context } from '../../../http/context.ts';
import { ownOrigin } from '../../../http/origin.ts';
import { createValidator } from '../../../http/validator.ts';
import { draftOfForm, draftOfKey, fieldsOf } from '../../components/keyFields.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { referenceOf } from '../../frame/formValues.ts';
import { attempt, goTo, type Submission, sendPage, type Visit } from '../../frame/pageRouter.ts';
import { pageOf, single } from '../../frame/query.ts';
import { callPath } from '../calls/callView.ts';
import { KEYS_PATH, keyPage, keyPath } from './keyView.ts';
import { keysPage, type MadeKey, NEW_KEY, type NewKeyDraft } from './listView.ts';

/** Example for a first call: cheap, fast, and independent of other servers. */
const FIRST_TOOL = 'hash-text';

const draftOf = (form: URLSearchParams): NewKeyDraft => ({
  ...draftOfForm(form),
  scope: form.get('scope') ?? '',
});

/** Converts the form to the body of the Account API, whose schema validates it. */
const asBody = ({ scope, ...draft }: NewKeyDraft): Record<string, unknown> => ({
  ...fieldsOf(draft),
  scopes: scope === '' ? [] : [scope],
});

/**
 * Converts the form of a key to the body of a change: the fields that differ from the key. The form shows only the day of
 * an expiry, so an unchanged day must not change its time.
 */
function changeOf(form: URLSearchParams, row: KeyRow): Record<string, unknown> {
  const [before, after] = [fieldsOf(draftOfKey(row)), fieldsOf(draftOfForm(form))];
  return Object.fromEntries(
    Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
  );
}

export function keysRoutes({ pages, core, keys }: Dashboard): void {
  const { env, lists, registry } = core;
  const compile = createValidator();
  const validate = compile<NewKeyBody>(newKeyBody);
  const validateChange = compile<KeyChangeBody>(keyChangeBody);
  const validateRotation = compile<KeyRotationBody>(keyRotationBody);
  const toolNames = [...registry.keys()];

  /** A tool that the key may call. */
  function exampleFor({ scopes, tools }: MadeKey['row'], ctx: Context): MadeKey['example'] {
    if (!scopes.includes('tools')) return null;
    const names = tools === null || tools.includes(FIRST_TOOL) ? [FIRST_TOOL, ...toolNames] : tools;
    const tool: ToolDefinition | undefined = names.flatMap((name) => registry.get(name) ?? [])[0];
    return tool === undefined ? null : { tool, baseUrl: env.PUBLIC_URL ?? ownOrigin(ctx) ?? '' };
  }

  async function page({ ctx, viewer }: Visit, more: Partial<Parameters<typeof keysPage>[0]> = {}) {
    const request = pageOf(ctx);
    const rows = await keys.list(viewer.account._id, request);
    const { cursor } = request;
    const reference = randomUUID();
    return keysPage({ viewer, keys: rows, cursor, toolNames, draft: NEW_KEY, reference, ...more });
  }

  pages.get(KEYS_PATH, async (visit) =>
    sendPage(visit.ctx, await page(visit, { again: single(visit.ctx, 'done') === 'again' })),
  );

  pages.post(KEYS_PATH, async (visit) => {
    const { ctx, viewer, form } = visit;
    const draft = draftOf(form);
    const id = `key_${referenceOf(form) ?? randomUUID()}`;
    const create = async () => {
      try {
        const row = await keys.create(viewer.account._id, validate(asBody(draft)), actorOf(ctx), id);
        sendPage(ctx, await page(visit, { made: { row, example: exampleFor(row, ctx) } }), 201);
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        goTo(ctx, `${KEYS_PATH}?done=again`);
      }
    };
    await attempt(ctx, create, (failure) => page(visit, { draft, failure }));
  });

  async function one({ viewer }: Visit, row: KeyRow, more: Partial<Parameters<typeof keyPage>[0]> = {}) {
    return keyPage({ viewer, row, draft: draftOfKey(row), toolNames, ...more });
  }

  const onKey = { page: (id: string) => keyPath({ id }) };

  pages.get(`${KEYS_PATH}/:id`, async (visit) => {
    const row = await keys.get(visit.viewer.account._id, visit.id);
    sendPage(visit.ctx, await one(visit, row, { isChanged: single(visit.ctx, 'done') === 'changed' }));
  });

  const change = async (visit: Submission) => {
    const { ctx, viewer, id, form } = visit;
    const row = await keys.get(viewer.account._id, id);
    const body = changeOf(form, row);
    const save = async () => {
      if (Object.keys(body).length > 0)
        await keys.change(viewer.account._id, id, validateChange(body), actorOf(ctx));
      goTo(ctx, `${keyPath({ id })}?done=changed`);
    };
    await attempt(ctx, save, (failure) => one(visit, row, { draft: draftOfForm(form), failure }));
  };
  pages.post(`${KEYS_PATH}/:id/change`, change, onKey);

  const rotate = async (visit: Submission) => {
    const { ctx, viewer, id, form } = visit;
    const row = await keys.get(viewer.account._id, id);
    const hours = form.get('overlapHours') ?? '';
    const run = async () => {
      const { key, ...rotated } = await keys.rotate(
        viewer.account._id,
        id,
        validateRotation({
          overlapHours: /^\d{1,9}$/.test(hours) ? Number(hours) : hours,
          force: form.get('force') === 'true',
        }),
        actorOf(ctx),
      );
      sendPage(ctx, await one(visit, rotated, { rotated: key }));
    };
    await attempt(ctx, run, (failure) => one(visit, row, { failure }));
  };
  pages.post(`${KEYS_PATH}/:id/rotate`, rotate, onKey);

  const revoke = async ({ ctx, viewer, id }: Submission) => {
    await keys.revoke(viewer.account._id, id, actorOf(ctx));
    goTo(ctx, KEYS_PATH);
  };
  pages.post(`${KEYS_PATH}/:id/revoke`, revoke, { page: () => KEYS_PATH });

  // For `firstCall.js`: the newest call with the key.
  pages.get(`${KEYS_PATH}/:id/first-call`, async ({ ctx, viewer, id }) => {
    const { items } = await lists.calls(viewer.account._id, { keyId: id }, { limit: 1 });
    ctx.body = { call: items.map(({ _id, state }) => ({ path: callPath(_id), state }))[0] ?? null };
  });
}
