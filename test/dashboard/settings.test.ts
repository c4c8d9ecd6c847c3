import test from 'ava';
import { withStore } from '../helpers/account.ts';
import { newOwner, type Visitor, visitor } from '../helpers/dashboard.ts';
import { mainText, pageOf, rowsOf } from '../helpers/markup.ts';
import { useStack } from '../helpers/profiles.ts';
import { cookieOf, postAuth, signIn } from '../helpers/session.ts';
import type { SharedStack } from '../helpers/stack.ts';

let stack: SharedStack;

test.before(async () => {
  stack = await useStack();
});
test.after.always(() => stack?.stop());

test('a changed password is valid for the next session, and ends all others', async (t) => {
  const owner = await newOwner(stack);
  const elsewhere = visitor(stack, await signIn(stack.baseUrl, owner), owner);
  const change = { currentPassword: owner.password, newPassword: 'another password' };
  const wrong = await owner.post('/settings/password', { ...change, currentPassword: 'wrong' });
  t.is(wrong.status, 422);
  t.regex(mainText(await pageOf(t, wrong)), /The current password is wrong/);
  t.is((await elsewhere.get('')).status, 200);

  const short = await owner.post('/settings/password', { currentPassword: owner.password });
  t.is(short.status, 422);
  t.regex(mainText(await pageOf(t, short)), /The password is too short/);

  const changed = await owner.post('/settings/password', change);
  t.is(changed.status, 303);
  t.is((await elsewhere.get('')).status, 303);
  const [cookie = ''] = changed.headers.getSetCookie().map((it) => it.split(';')[0]);
  t.is((await visitor(stack, cookie, owner).get('')).status, 200);
  t.is((await postAuth(stack.baseUrl, 'sign-in/email', owner)).status, 401);
  await signIn(stack.baseUrl, { ...owner, password: change.newPassword });
});

test('an owner sees the active sessions, and ends one or all others', async (t) => {
  const owner = await newOwner(stack);
  const from = async (userAgent: string) => {
    const headers = { 'User-Agent': userAgent };
    const response = await postAuth(stack.baseUrl, 'sign-in/email', owner, headers);
    return visitor(stack, cookieOf(response), owner);
  };
  const linux = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
  const windows =
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36 Edg/140.0';
  const phone =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1';
  const sessions = [
    await from(linux),
    await from(windows),
    await from(phone),
    await from('my own <b>script</b>'),
  ];
  const [firefox, edge, safari, script] = sessions;
  if (!firefox || !edge || !safari || !script) return t.fail();
  const list = async (session: Visitor) => rowsOf(await pageOf(t, await session.get('/settings')));
  const rows = await list(firefox);
  t.is(rows.length, 5);
  for (const device of ['Edge on Windows', 'Safari on iPhone', 'my own <b>script</b>'])
    t.is(
      rows.filter((row) => row.startsWith(`${device} 127.0.0.1 `) && row.endsWith(' End')).length,
      1,
      device,
    );
  t.deepEqual(
    rows.filter((row) => row.includes('this session')).map((row) => row.split(' 127.')[0]),
    ['Firefox on Linux'],
  );

  const ids = (session: Visitor) =>
    withStore(stack, async ({ db }) => {
      const user = await db.collection('users').findOne({ email: session.email });
      const found = await db.collection('sessions').find({ userId: user?._id }).toArray();
      return new Map(found.map(({ _id, userAgent }) => [String(userAgent), String(_id)]));
    });
  const ended = await firefox.post(`/settings/sessions/${(await ids(owner)).get(windows)}/end`);
  t.is(ended.headers.get('location'), '/dashboard/settings?changed=session');
  t.is((await edge.get('')).status, 303);
  t.is((await safari.get('')).status, 200);
  t.is((await list(firefox)).length, 4);

  t.is((await firefox.post('/settings/sessions/end-others')).status, 303);
  for (const session of [owner, safari, script]) t.is((await session.get('')).status, 303);
  t.deepEqual((await list(firefox)).length, 1);
});
