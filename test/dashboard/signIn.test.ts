import { randomUUID } from 'node:crypto';
import test from 'ava';
import { newOwner, visitor } from '../helpers/dashboard.ts';
import { fieldValue, linksOf, mainText, pageOf } from '../helpers/markup.ts';
import { useStack } from '../helpers/profiles.ts';
import { freshCredentials, signIn } from '../helpers/session.ts';
import type { SharedStack } from '../helpers/stack.ts';

let stack: SharedStack;

test.before(async () => {
  stack = await useStack();
});
test.after.always(() => stack?.stop());

test('a sign-up shows the free credits and the next steps', async (t) => {
  const { email, password } = freshCredentials();
  const anonymous = visitor(stack, '', { email, password });
  const form = await pageOf(t, await anonymous.get('/sign-up'));
  t.regex(mainText(form), /30 free credits/);
  const response = await anonymous.postRaw('/sign-up', { email, password });
  t.is(response.status, 303);
  t.is(response.headers.get('location'), '/dashboard');
  const owner = visitor(stack, await signIn(stack.baseUrl, { email, password }), { email, password });
  const overview = await pageOf(t, await owner.get(''));
  t.regex(mainText(overview), /Available 30 /);
  for (const path of ['/dashboard/tools', '/dashboard/keys', '/dashboard/webhooks'])
    t.true(linksOf(overview).includes(path));
});

test('invalid sign-ups are explained on the form', async (t) => {
  const taken = await newOwner(stack);
  const anonymous = visitor(stack, '', taken);
  for (const [fields, words] of [
    [{ email: taken.email, password: 'long enough' }, /An account with this email address already exists/],
    [{ email: `${randomUUID()}@example.com`, password: 'short' }, /The password is too short/],
    [{ email: 'no e-mail', password: 'long enough' }, /Enter a valid email address/],
  ] as const) {
    const response = await anonymous.postRaw('/sign-up', fields);
    t.is(response.status, 422);
    t.deepEqual(response.headers.getSetCookie(), []);
    const elements = await pageOf(t, response);
    t.regex(mainText(elements), words);
    t.is(fieldValue(elements, 'email'), fields.email);
    t.is(fieldValue(elements, 'password'), '');
  }
});
