import { isRecord } from '../../../../../schemas/isRecord.ts';
import { assertNoFault, codeOf, refusalOf, type ShowForm, withinLimits } from '../../../frame/authRefusal.ts';
import type { Dashboard } from '../../../frame/dashboard.ts';
import { goTo, type Submission, sendPage, type Visit } from '../../../frame/pageRouter.ts';
import { single } from '../../../frame/query.ts';
import { TWO_FACTOR_PATH } from '../paths.ts';
import { newCodesPage, setUpPage, type TwoFactorSecrets, twoFactorPage } from './view.ts';

type Act = 'enable' | 'disable' | 'generate-backup-codes' | 'verify-totp';

/** @throws if the response has other fields */
async function secretsOf(response: Response): Promise<TwoFactorSecrets> {
  const body: unknown = await response.json();
  if (!isRecord(body) || !Array.isArray(body.backupCodes))
    throw new Error('better-auth returned no backup codes');
  const backupCodes = body.backupCodes.filter((code) => typeof code === 'string');
  return { uri: typeof body.totpURI === 'string' ? body.totpURI : null, backupCodes };
}

export function twoFactorRoutes({ pages, forwardToAuth, auth }: Dashboard): void {
  const onPage = { page: () => TWO_FACTOR_PATH };

  async function page({ viewer }: Visit, more: Partial<Parameters<typeof twoFactorPage>[0]> = {}) {
    const { id, hasTwoFactor } = viewer.user;
    const backupCodes = hasTwoFactor ? await auth.backupCodesLeft(id) : null;
    return twoFactorPage({ viewer, backupCodes, ...more });
  }

  /** Registers a form that better-auth processes. The session can get a new cookie. */
  const form = (
    name: string,
    act: Act,
    field: 'password' | 'currentPassword' | 'code',
    onSuccess: (visit: Submission, response: Response) => Promise<void> | void,
    showForm: (visit: Submission) => ShowForm,
  ) => {
    const submit = async (visit: Submission) => {
      const { ctx } = visit;
      const step = async () => {
        const entered = visit.form.get(field) ?? '';
        const body = field === 'code' ? { code: entered.replaceAll(/\s/g, '') } : { password: entered };
        const response = await forwardToAuth(ctx, `two-factor/${act}`, { body });
        assertNoFault(response, act);
        if (!response.ok) return showForm(visit)(422, refusalOf(await codeOf(response)));
        ctx.append('Set-Cookie', response.headers.getSetCookie());
        await onSuccess(visit, response);
      };
      await withinLimits(ctx, step, showForm(visit));
    };
    pages.post(`${TWO_FACTOR_PATH}/${name}`, submit, onPage);
  };

  const again =
    (visit: Submission): ShowForm =>
    async (status, failure) =>
      sendPage(visit.ctx, await page(visit, { failure }), status);

  pages.get(TWO_FACTOR_PATH, async (visit) => {
    const news = (['on', 'off'] as const).find((it) => it === single(visit.ctx, 'done')) ?? null;
    sendPage(visit.ctx, await page(visit, { news }));
  });

  const showSecrets = async ({ ctx, viewer }: Submission, response: Response) =>
    sendPage(ctx, setUpPage({ viewer, secrets: await secretsOf(response) }));
  form('enable', 'enable', 'password', showSecrets, again);

  const turnedOn = ({ ctx }: Submission) => goTo(ctx, `${TWO_FACTOR_PATH}?done=on`);
  form('verify', 'verify-totp', 'code', turnedOn, ({ ctx, viewer }) => (status, failure) => {
    sendPage(ctx, setUpPage({ viewer, secrets: null, failure }), status);
  });

  const showCodes = async ({ ctx, viewer }: Submission, response: Response) =>
    sendPage(ctx, newCodesPage(viewer, (await secretsOf(response)).backupCodes));
  form('backup-codes', 'generate-backup-codes', 'currentPassword', showCodes, again);

  const turnedOff = ({ ctx }: Submission) => goTo(ctx, `${TWO_FACTOR_PATH}?done=off`);
  form('disable', 'disable', 'password', turnedOff, again);
}
