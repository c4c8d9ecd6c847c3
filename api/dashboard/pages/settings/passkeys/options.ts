import { isRecord } from '../../../../../schemas/isRecord.ts';
import type { Context } from '../../../../http/context.ts';
import type { Failure } from '../../../components/alert.ts';
import { type ShowForm, withinLimits } from '../../../frame/authRefusal.ts';

/** Sends options for the browser to `passkeys.js`, or the reason why there are none. @param ask returns either */
export async function sendOptions(ctx: Context, ask: () => Promise<Response | Failure>): Promise<void> {
  const refuse: ShowForm = (status, { message }) => {
    ctx.status = status;
    ctx.body = { message };
  };
  const step = async () => {
    const answer = await ask();
    if (!(answer instanceof Response)) return refuse(422, answer);
    const options: unknown = await answer.json();
    if (!answer.ok || !isRecord(options))
      throw new Error(`better-auth responded to a request for passkey options with ${answer.status}`);
    ctx.append('Set-Cookie', answer.headers.getSetCookie());
    // The plugin cannot require it in the options of a sign-in.
    ctx.body = { options: { ...options, userVerification: 'required' } };
  };
  await withinLimits(ctx, step, refuse);
}
