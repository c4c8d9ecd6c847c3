import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { withStore } from '../helpers/account.ts';
import { visitor } from '../helpers/dashboard.ts';
import {
  attribute,
  type Element,
  HOSTILE,
  linksOf,
  mainText,
  pageOf,
  shape,
  textOf,
} from '../helpers/markup.ts';
import { LIMITED, useStack } from '../helpers/profiles.ts';
import { type Credentials, cookieOf, freshCredentials, postAuth } from '../helpers/session.ts';
import { makeUser } from '../helpers/users.ts';

const { publicUrl: PUBLIC_URL, uiUrl: UI_URL } = LIMITED;

const stack = await useStack('limited');
const [owner, operator] = await Promise.all([makeUser(stack, 'owner'), makeUser(stack, 'operator')]);
test.after.always(() => stack.stop());

type Headers = Record<string, string>;

const get = (path: string, headers: Headers = {}) =>
  fetch(`${stack.baseUrl}${path}`, { headers, redirect: 'manual' });

/** Returns the headers that a browser sends with a form of the dashboard. */
const fromOurPage = (): Headers => ({
  Origin: stack.baseUrl,
  'Sec-Fetch-Site': 'same-origin',
  'Sec-Fetch-Mode': 'navigate',
  'Sec-Fetch-Dest': 'document',
});

const post = (path: string, fields: Record<string, string>, headers: Headers = fromOurPage()) =>
  fetch(`${stack.baseUrl}/dashboard/${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers,
    body: new URLSearchParams(fields),
  });

const submit = ({ email, password }: Credentials, headers?: Headers) =>
  post('sign-in', { email, password }, headers);

function shownEmail(elements: Element[]): string | undefined {
  const field = elements.find((element) => attribute(element, 'name') === 'email');
  return field && attribute(field, 'value');
}

test('visitors who are not signed in are redirected to the sign-in form', async (t) => {
  for (const Cookie of ['', 'utility-tools.session_token=made.up']) {
    const response = await get('/dashboard', { Cookie });
    t.is(response.status, 303);
    t.is(response.headers.get('location'), '/dashboard/sign-in');
    t.is(response.headers.get('cache-control'), 'no-store');
  }
  const form = await get('/dashboard/sign-in');
  t.is(form.status, 200);
  const elements = await pageOf(t, form);
  const fields = elements.filter(({ tagName }) => tagName === 'input');
  t.deepEqual(
    fields.map((field) => [attribute(field, 'name'), attribute(field, 'type')]),
    [
      ['email', 'email'],
      ['password', 'password'],
      // Of the form for a passkey, which the site offers because its address is https.
      ['credential', 'hidden'],
    ],
  );
});

test('an owner signs in, sees the account, and signs out', async (t) => {
  const signedIn = await submit(owner);
  t.is(signedIn.status, 303);
  t.is(signedIn.headers.get('location'), '/dashboard');
  t.is(signedIn.headers.get('cache-control'), 'no-store');
  const flags = signedIn.headers.getSetCookie().find((it) => it.includes('session_token=')) ?? '';
  for (const flag of [/; HttpOnly(;|$)/, /; SameSite=Lax(;|$)/, /; Path=\/(;|$)/]) t.regex(flags, flag);

  const Cookie = cookieOf(signedIn);
  const overview = await get('/dashboard', { Cookie });
  t.is(overview.status, 200);
  const elements = await pageOf(t, overview);
  const words = mainText(elements);
  for (const shown of ['Available 100', 'Get started 0 of 3 done', 'Below 25 credits'])
    t.true(words.includes(shown), shown);
  const [header] = elements.filter(({ tagName }) => tagName === 'header');
  t.true(header !== undefined && textOf(header).includes(owner.email));
  t.false(linksOf(elements).includes('/dashboard/operator'));
  t.is((await get('/dashboard/sign-in', { Cookie })).headers.get('location'), '/dashboard');

  const out = await visitor(stack, Cookie, owner).post('/sign-out');
  t.is(out.status, 303);
  t.is(out.headers.get('location'), '/dashboard/sign-in');
  t.true(out.headers.getSetCookie().some((it) => /session_token=;.*Max-Age=0/.test(it)));
  t.is((await get('/dashboard', { Cookie })).status, 303);
  t.is((await post('sign-out', {})).status, 303);
});

test('an operator can open the Temporal UI and decrypt payloads with the cookie from the sign-in form', async (t) => {
  const Cookie = cookieOf(await submit(operator));
  t.true(linksOf(await pageOf(t, await get('/dashboard/operator', { Cookie }))).includes(UI_URL));
  const payload = { metadata: { encoding: btoa('json/plain') }, data: btoa('"a"') };
  const decode = (headers: Headers) =>
    fetch(`${stack.baseUrl}/codec/decode`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ payloads: [payload] }),
    });
  const decoded = await decode({ Cookie });
  t.is(decoded.status, 200);
  t.deepEqual(await decoded.json(), { payloads: [payload] });
  t.is((await decode({})).status, 401);
  t.is((await decode({ Cookie: cookieOf(await submit(owner)) })).status, 403);
});

test('every link and style sheet of the pages exists', async (t) => {
  const Cookie = cookieOf(await submit(owner));
  const own = linksOf(await pageOf(t, await get('/dashboard', { Cookie }))).filter((it) =>
    it.startsWith('/'),
  );
  t.true(own.length > 10);
  for (const path of own) t.is((await get(path, { Cookie })).status, 200, path);
  t.is((await get('/dashboard/style.css')).headers.get('content-type'), 'text/css; charset=utf-8');
  const script = await get('/dashboard/dashboard.js', { 'Accept-Encoding': 'br' });
  t.is(script.headers.get('content-type'), 'text/javascript; charset=utf-8');
  t.is(script.headers.get('content-encoding'), 'br');
  const sent = Number(script.headers.get('content-length'));
  t.true(sent > 1000 && sent < 6500, `${sent} bytes`);
});

test('a wrong email and a wrong password give the same response, and no session', async (t) => {
  const alerts = new Set<string>();
  for (const credentials of [
    { ...owner, password: 'wrong' },
    freshCredentials(),
    { email: '', password: '' },
    { email: 'no e-mail', password: 'x' },
  ]) {
    const response = await submit(credentials, { ...fromOurPage(), 'X-Forwarded-For': '192.0.2.1' });
    t.is(response.status, 401);
    t.deepEqual(response.headers.getSetCookie(), []);
    const elements = await pageOf(t, response);
    const alert = elements.find((element) => attribute(element, 'role') === 'alert');
    alerts.add(alert === undefined ? '' : textOf(alert).trim());
    t.is(shownEmail(elements), credentials.email);
  }
  t.deepEqual([...alerts], ['The email address or password is wrong.']);
});

test('password guessing is limited on the sign-in page as on /api/auth', async (t) => {
  const credentials = await makeUser(stack, 'owner');
  const headers = { ...fromOurPage(), 'X-Forwarded-For': '192.0.2.2' };
  let response = await submit({ ...credentials, password: 'wrong' }, headers);
  for (let i = 0; i < 30 && response.status === 401; i++)
    response = await submit({ ...credentials, password: 'wrong' }, headers);
  t.is(response.status, 429);
  t.true(Number(response.headers.get('retry-after')) > 0);
  t.regex((await pageOf(t, response)).map(textOf).join(), /Too many attempts\. Try again in/);
  t.is((await submit(credentials, headers)).status, 429);
  const { 'X-Forwarded-For': address } = headers;
  const limited = await postAuth(stack.baseUrl, 'sign-in/email', credentials, { 'X-Forwarded-For': address });
  t.is(limited.status, 429);
  // Guesses from another address do not lock the owner out.
  t.is((await postAuth(stack.baseUrl, 'sign-in/email', credentials)).status, 200);
});

test('forms of the dashboard are accepted with any origin header that browsers send, and without one', async (t) => {
  const own: Headers[] = [
    {},
    { Origin: stack.baseUrl },
    { Origin: PUBLIC_URL },
    { 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Mode': 'navigate' },
  ];
  for (const headers of own) {
    const signedIn = await submit(owner, headers);
    t.is(signedIn.status, 303, JSON.stringify(headers));
    const Cookie = cookieOf(signedIn);
    const formToken = await visitor(stack, Cookie, owner).formToken();
    const out = await post('sign-out', { formToken }, { ...headers, Cookie });
    t.is(out.status, 303, JSON.stringify(headers));
  }
});

test('the referrer policy is same-origin, so forms send their origin and other sites get no referrer', async (t) => {
  t.is((await get('/dashboard/sign-in')).headers.get('referrer-policy'), 'same-origin');
});

test('no part of the request controls where a sign-in redirects', async (t) => {
  const evil = 'https://evil.example/';
  const query = `?${new URLSearchParams({ callbackURL: evil, next: evil, redirect: evil })}`;
  const fields = { ...owner, callbackURL: evil, next: evil };
  for (const path of ['sign-in', `sign-in${query}`]) {
    const response = await post(path, fields);
    t.is(response.headers.get('location'), '/dashboard');
  }
  const response = await get(`/dashboard${query}`, { 'X-Forwarded-Host': 'evil.example' });
  t.is(response.headers.get('location'), '/dashboard/sign-in');
});

test('markup in the email is escaped in the form', async (t) => {
  const headers = { ...fromOurPage(), 'X-Forwarded-For': '192.0.2.3' };
  const plain = await pageOf(t, await submit({ email: 'plain', password: 'x' }, headers));
  for (const email of HOSTILE) {
    const elements = await pageOf(t, await submit({ email, password: 'x' }, headers));
    t.deepEqual(shape(elements), shape(plain));
    t.is(shownEmail(elements), email);
  }
});

test('markup in the email is escaped in the overview', async (t) => {
  const credentials = await makeUser(stack, 'owner');
  const Cookie = cookieOf(await submit(credentials));
  const plain = await pageOf(t, await get('/dashboard', { Cookie }));
  let { email } = credentials;
  for (const hostile of HOSTILE) {
    await withStore(stack, ({ db }) =>
      db.collection('users').updateOne({ email }, { $set: { email: hostile } }),
    );
    email = hostile;
    const elements = await pageOf(t, await get('/dashboard', { Cookie }));
    t.deepEqual(shape(elements), shape(plain));
    t.true(elements.some((element) => element.tagName === 'span' && textOf(element) === hostile));
  }
});

/**
 * Sends only the headers of a form request with this Content-Length, and returns the response. A refusal closes the
 * connection.
 */
async function announce(bytes: number): Promise<Response> {
  const outgoing = request(`${stack.baseUrl}/dashboard/sign-in`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': bytes },
    timeout: 10_000,
  });
  outgoing.once('timeout', () => outgoing.destroy(new Error('no answer')));
  try {
    outgoing.flushHeaders();
    const [incoming]: IncomingMessage[] = await once(outgoing, 'response');
    if (incoming === undefined) throw new Error('no answer');
    const headers = Object.entries(incoming.headersDistinct).map(([name, values = []]) => [
      name,
      values.join(', '),
    ]);
    return new Response(await text(incoming), {
      status: incoming.statusCode ?? 0,
      headers: Object.fromEntries(headers),
    });
  } finally {
    outgoing.destroy();
  }
}

test('malformed and oversized forms are refused with an HTML page', async (t) => {
  const long = await announce(17_000);
  t.is(long.status, 413);
  await pageOf(t, long);
  const json = await fetch(`${stack.baseUrl}/dashboard/sign-in`, {
    method: 'POST',
    headers: { ...fromOurPage(), 'Content-Type': 'application/json' },
    body: JSON.stringify(owner),
  });
  t.is(json.status, 415);
  await pageOf(t, json);
  const unknown = await get('/dashboard/nothing');
  t.is(unknown.status, 404);
  await pageOf(t, unknown);
  t.is(
    (await get('/dashboard/sign-out')).status,
    303,
    "a GET of the form's URL redirects to the page with the form",
  );
});
