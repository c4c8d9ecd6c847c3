import { type NewKeyBody, newKeyBody } from '../../../../schemas/accountRows.ts';
import type { DeviceOrigin } from '../../../../store/keys/deviceLogins.ts';
import { newKey } from '../../../account/newKey.ts';
import { plainCode } from '../../../auth/deviceLogin.ts';
import { DEVICE_PATH } from '../../../auth/devicePlugin.ts';
import type { Context } from '../../../http/context.ts';
import { createValidator } from '../../../http/validator.ts';
import { draftOfForm, fieldsOf, suggestedDraft } from '../../components/keyFields.ts';
import { failureOf } from '../../frame/authRefusal.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { attempt, sendPage } from '../../frame/pageRouter.ts';
import { single } from '../../frame/query.ts';
import { codePage, devicePage, doneDevicePage } from './view.ts';

const UNKNOWN = 'This code is wrong, was used already or has expired. Run the command again for a new code.';

/** Registers the page on which an owner approves a sign-in of the command line. */
export function deviceRoutes({ pages, core: { registry }, deviceLogin }: Dashboard): void {
  const validate = createValidator()<NewKeyBody>(newKeyBody);
  const toolNames = [...registry.keys()];

  /** Returns what the code signs in; null if the user may not approve it. */
  const claimed = async (ctx: Context, code: string): Promise<DeviceOrigin | null> =>
    (await deviceLogin.claim(ctx, code)) ? deviceLogin.originOf(code) : null;

  pages.get(
    DEVICE_PATH,
    async ({ ctx, viewer }) => {
      const code = plainCode(single(ctx, 'user_code'));
      if (code === '') return sendPage(ctx, codePage({ viewer, failure: null }));
      const origin = await claimed(ctx, code);
      if (origin === null) return sendPage(ctx, codePage({ viewer, failure: failureOf(UNKNOWN) }), 400);
      const name = origin.device === '' ? 'Command line' : `Command line on ${origin.device}`;
      const draft = { ...suggestedDraft(new Date()), name };
      sendPage(ctx, devicePage({ viewer, code, origin, draft, toolNames }));
    },
    { returnsAfterSignIn: true },
  );

  pages.post(DEVICE_PATH, async ({ ctx, viewer, form }) => {
    const code = plainCode(form.get('userCode') ?? '');
    const origin = await claimed(ctx, code);
    if (origin === null) return sendPage(ctx, codePage({ viewer, failure: failureOf(UNKNOWN) }), 400);
    if (form.get('decision') !== 'approve') {
      await deviceLogin.deny(ctx, code);
      return sendPage(ctx, doneDevicePage({ viewer, isApproved: false }));
    }
    const draft = draftOfForm(form);
    const approve = async () => {
      const fields = fieldsOf(draft);
      const limits =
        origin.scope === 'tools'
          ? fields
          : { ...fields, tools: null, dailyBudget: null, monthlyBudget: null };
      const body = validate({ ...limits, scopes: [origin.scope] });
      await deviceLogin.approve(ctx, code, newKey(viewer.account._id, body, registry));
      sendPage(ctx, doneDevicePage({ viewer, isApproved: true }));
    };
    await attempt(ctx, approve, (failure) => devicePage({ viewer, code, origin, draft, toolNames, failure }));
  });
}
