import { X509Certificate } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { ObjectId } from 'mongodb';
import { passkeySite } from '../../api/auth/passkeyPlugin.ts';
import { freePort } from '../../dev/ports.ts';
import { MAX_PASSKEYS, removePasskeys } from '../../store/accounts/passkeys.ts';
import { withStore } from '../helpers/account.ts';
import { startSite } from '../helpers/browser.ts';
import { issueCertificate } from '../helpers/certificates.ts';
import { type Visitor, visitor } from '../helpers/dashboard.ts';
import { isRecord, type Json, recordAt } from '../helpers/json.ts';
import { type Mailbox, startMailbox } from '../helpers/mailbox.ts';
import { mainText, pageOf } from '../helpers/markup.ts';
import {
  type Authenticator,
  addAuthenticator,
  appleAttestation,
  createPasskey,
  signChallenge,
} from '../helpers/passkeys.ts';
import { cookieOf, signIn } from '../helpers/session.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { totp } from '../helpers/totp.ts';
import { makeUser } from '../helpers/users.ts';
import { inspect, startTab, type Tab } from './browser.ts';

const LIST = '/settings/passkeys';

let stack: Stack;
/** The stack at the host name to which its passkeys are bound. */
let site: { baseUrl: string };
let tab: Tab;
let mailbox: Mailbox;
let authenticator: Authenticator;

test.before(async () => {
  const port = await freePort();
  site = { baseUrl: `http://localhost:${port}` };
  mailbox = await startMailbox();
  const env = {
    PORT: String(port),
    PUBLIC_URL: site.baseUrl,
    TRUST_PROXY: 'true',
    RATE_LIMIT: '1000:1000',
    SMTP_URL: mailbox.url,
  };
  stack = await startStack({ pools: [], env });
  tab = await startTab(site.baseUrl);
});
test.after.always(async () => {
  await tab?.close();
  await stack?.stop();
  await mailbox?.close();
});
test.serial.beforeEach(async () => {
  await tab.open('/dashboard/sign-in');
  authenticator = await addAuthenticator(tab.page);
});
test.serial.afterEach.always(async () => {
  await authenticator.remove();
  await tab.page.deleteCookie(...(await tab.page.cookies()));
});

async function newUser(): Promise<Visitor> {
  const credentials = await makeUser(stack, 'owner');
  return visitor(site, await signIn(site.baseUrl, credentials), credentials);
}

const anonymous = () => visitor(site, '', { email: '', password: '' });

async function jsonOf(response: Response): Promise<Json> {
  const body: unknown = await response.json();
  if (!isRecord(body)) throw new Error('no object');
  return body;
}

const cookiesOf = (response: Response): string =>
  response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ');

/** Begins to add a passkey. Returns the options for the browser, and the owner with the cookie of the challenge. */
async function startAdding(owner: Visitor): Promise<{ options: Json; adding: Visitor }> {
  const response = await owner.post(`${LIST}/add/options`, { name: 'Phone', password: owner.password });
  const options = recordAt(await jsonOf(response), 'options');
  return { options, adding: visitor(site, `${owner.cookie}; ${cookiesOf(response)}`, owner) };
}

const add = (adding: Visitor, credential: string, name = 'Phone') =>
  adding.post(`${LIST}/add`, { name, credential });

/** Adds a passkey in the tab's authenticator. */
async function addPasskey(t: ExecutionContext, owner: Visitor): Promise<void> {
  const { options, adding } = await startAdding(owner);
  const added = await add(adding, await createPasskey(tab.page, options));
  t.is(added.headers.get('location'), `/dashboard${LIST}?done=added`);
}

/** Begins to sign in. Returns the options for the browser, and the function that completes the sign-in. */
async function startSignIn(headers: Record<string, string> = {}) {
  const response = await anonymous().postRaw('/sign-in/passkey/options', {}, headers);
  const cookie = cookiesOf(response);
  const options = recordAt(await jsonOf(response), 'options');
  return {
    options,
    complete: (credential: string) =>
      visitor(site, cookie, { email: '', password: '' }).postRaw('/sign-in/passkey', { credential }, headers),
  };
}

async function signInWithPasskey(headers: Record<string, string> = {}): Promise<Response> {
  const { options, complete } = await startSignIn(headers);
  return complete(await signChallenge(tab.page, options));
}

/** Asserts that a sign-in is refused with this text and starts no session. */
async function refused(t: ExecutionContext, response: Response, why: RegExp): Promise<void> {
  t.is(response.status, 401);
  t.throws(() => cookieOf(response));
  t.regex(mainText(await pageOf(t, response)), why);
}

test('passkeys need a host name, and HTTPS except on localhost', (t) => {
  for (const [url, host] of [
    ['https://tools.example.com/path', 'tools.example.com'],
    ['https://tools.example.com:8443', 'tools.example.com'],
    ['http://localhost:8080', 'localhost'],
    ['http://tools.example.com', undefined],
    ['https://192.0.2.1', undefined],
    ['https://[2001:db8::1]', undefined],
    ['http://127.0.0.1:8080', undefined],
    [null, undefined],
  ] as const)
    t.is(passkeySite(url)?.host, host, `${url}`);
});

test.serial('a passkey signs in without password and code, until it is removed', async (t) => {
  const { page, open, press, type, text } = tab;
  const { email, password } = await makeUser(stack, 'owner');
  const signOut = () => Promise.all([page.waitForNavigation(), page.click('header form button')]);
  await type('Email', email);
  await page.type('#password', password);
  await press('Sign in');
  await open('/dashboard/settings/two-factor');
  await page.type('#password', password);
  await press('Set up');
  await type('Code of the app', totp(/Key: ([A-Z2-7 ]+)/.exec(await text())?.[1]?.replaceAll(' ', '') ?? ''));
  await press('Turn on two-factor authentication');

  await open(`/dashboard${LIST}`);
  t.regex(await text(), /You have no passkeys/);
  await type('Name', 'Phone');
  await page.type('#password', 'wrong');
  await page.click('form[data-passkey] button');
  await page.waitForFunction("document.querySelector('[role=alert]').textContent !== ''");
  t.is(await page.$eval('[role=alert]', (it) => it.textContent), 'The current password is wrong.');
  await page.click('#password', { count: 3 });
  await page.type('#password', password);
  await press('Add a passkey');
  t.regex(await text(), /The passkey was added.*Phone\s\d{4}-\d\d-\d\d \d\d:\d\d\snever/);
  await inspect(t, tab);

  await signOut();
  await inspect(t, tab);
  await press('Sign in with a passkey');
  t.is(new URL(page.url()).pathname, '/dashboard');
  const elsewhere = (await page.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
  await page.deleteCookie(...(await page.cookies()));
  await open('/dashboard/sign-in');
  await press('Sign in with a passkey');

  await open(`/dashboard${LIST}`);
  t.notRegex(await text(), /never/);
  await Promise.all([page.waitForNavigation(), page.click('main td a')]);
  await type('Name', '<b>Old phone</b>');
  await press('Rename');
  t.regex(await text(), /The passkey was renamed.*<b>Old phone<\/b>/);
  await Promise.all([page.waitForNavigation(), page.click('main td a')]);
  await page.click('main summary');
  await inspect(t, tab);
  await press('Remove');
  t.regex(await text(), /The passkey was removed.*You have no passkeys/);
  t.is(
    (await visitor(site, elsewhere, { email, password }).get('')).status,
    303,
    'other sessions have ended',
  );
  const mails = await mailbox.until(email, 2);
  for (const [change, name] of [
    ['added', 'Phone'],
    ['removed', '<b>Old phone</b>'],
  ] as const) {
    const mail = mails.find(({ body }) => body.startsWith(`A passkey was ${change}:\n\n  ${name}\n`));
    t.deepEqual(
      mail?.headers.find(([header]) => header === 'Subject'),
      ['Subject', `A passkey was ${change}`],
    );
    t.true(mail?.links.includes(`${site.baseUrl}/dashboard${LIST}`));
  }
  await open('/dashboard/settings/security-log');
  t.regex(
    await text(),
    /Passkey removed\s<b>Old phone<\/b>.*Passkey renamed\sPhone → <b>Old phone<\/b>.*Signed in\swith a passkey.*Signed out.*Passkey added\sPhone\s.*Two-factor/,
  );

  await signOut();
  await press('Sign in with a passkey');
  t.regex(await text(), /has been removed\. Sign in with your password/);
  t.deepEqual(
    tab.complaints.splice(0).filter((it) => !/status of (401|422)/.test(it)),
    [],
  );
});

test.serial('an operator removes all passkeys of a user, which ends the sessions', async (t) => {
  const owner = await newUser();
  await addPasskey(t, owner);
  const remove = (email: string) => withStore(stack, (store) => removePasskeys(store, email));
  t.is(await remove('nobody@example.com'), null);
  t.is(await remove(owner.email.toUpperCase()), 1);
  t.is(await remove(owner.email), 0);
  t.is((await owner.get('')).status, 303);
  await refused(t, await signInWithPasskey(), /has been removed/);
  const again = visitor(site, await signIn(site.baseUrl, owner), owner);
  const log = mainText(await pageOf(t, await again.get('/settings/security-log')));
  t.regex(log, /Passkey removed\s+Phone\s+An operator/);
});

test.serial('without JavaScript the pages show no button for passkeys, and the rest works', async (t) => {
  const { page, open, press, type, text } = tab;
  const { email, password } = await newUser();
  const forms = () => page.$$eval('[data-passkey]', (all) => all.map((it) => it.checkVisibility()));
  t.deepEqual(await forms(), [true]);
  await page.setJavaScriptEnabled(false);
  await open('/dashboard/sign-in?without');
  t.deepEqual(await forms(), [false]);
  await type('Email', email);
  await page.type('#password', password);
  await press('Sign in');
  await open(`/dashboard${LIST}`);
  t.deepEqual(await forms(), [false]);
  t.regex(await text(), /This needs JavaScript and a browser that supports passkeys\./);
  await page.setJavaScriptEnabled(true);
  await open(`/dashboard${LIST}?with`);
  t.deepEqual(await forms(), [true]);
  t.false(await page.$eval('[data-without-passkeys]', (it) => it.checkVisibility()));
});

test.serial('a response to a challenge is accepted once', async (t) => {
  await addPasskey(t, await newUser());
  const first = await startSignIn();
  const credential = await signChallenge(tab.page, first.options);
  const signedIn = await first.complete(credential);
  t.is(signedIn.headers.get('location'), '/dashboard');
  t.is((await visitor(site, cookieOf(signedIn), { email: '', password: '' }).get('')).status, 200);
  t.true(signedIn.headers.getSetCookie().some((cookie) => cookie.startsWith('utility-tools.device.')));
  await refused(t, await first.complete(credential), /The request has expired/);
  await refused(t, await (await startSignIn()).complete(credential), /was not accepted/);
  await refused(t, await anonymous().postRaw('/sign-in/passkey', { credential }), /has expired/);
  for (const malformed of ['', '{', '[]', '{"id":{"$ne":null},"response":{}}'])
    await refused(t, await (await startSignIn()).complete(malformed), /sent no passkey/);
});

test.serial(
  'a passkey is accepted only if the device has checked the user, when added and used',
  async (t) => {
    const owner = await newUser();
    await addPasskey(t, owner);
    await authenticator.setUserVerified(false);
    const { options, complete } = await startSignIn();
    t.is(options.userVerification, 'required');
    const unverified = await signChallenge(tab.page, { ...options, userVerification: 'discouraged' });
    await refused(t, await complete(unverified), /has not checked that it is you/);

    await authenticator.setUserVerified(true);
    const { options: creation, adding } = await startAdding(await newUser());
    const credential: Json = JSON.parse(await createPasskey(tab.page, creation));
    const { authenticatorData, ...parts } = recordAt(credential, 'response');
    const data = Buffer.from(String(authenticatorData), 'base64url');
    // The flag UV (Web Authentication, section 6.1); a registration is not signed.
    data[32] = (data[32] ?? 0) & ~0x04;
    const forged = { ...credential, response: { ...parts, authenticatorData: data.toString('base64url') } };
    const response = await add(adding, JSON.stringify(forged));
    t.is(response.status, 422);
    t.regex(mainText(await pageOf(t, response)), /has not checked that it is you.*You have no passkeys/);
  },
);

test.serial('a passkey that a page of another origin has created or used is refused', async (t) => {
  const owner = await newUser();
  await addPasskey(t, owner);
  const signing = await startSignIn();
  const { options, adding } = await startAdding(await newUser());
  const other = await startSite({ '/': '<!doctype html><title>Other</title>' });
  await tab.page.goto(`http://localhost:${other.port}/`);
  await refused(
    t,
    await signing.complete(await signChallenge(tab.page, signing.options)),
    /was not accepted/,
  );
  await authenticator.remove();
  authenticator = await addAuthenticator(tab.page);
  const response = await add(adding, await createPasskey(tab.page, options));
  other.close();
  t.is(response.status, 422);
  t.regex(mainText(await pageOf(t, response)), /was not accepted.*You have no passkeys/);
});

test.serial('a challenge adds one passkey, for the user and the browser that asked for it', async (t) => {
  const [owner, other] = [await newUser(), await newUser()];
  const { options, adding } = await startAdding(owner);
  const credential = await createPasskey(tab.page, options);
  const theirs = visitor(site, `${other.cookie}; ${adding.cookie.split('; ').at(-1)}`, other);
  t.is((await add(theirs, credential)).status, 422);
  t.is((await add(adding, credential)).status, 422, 'the attempt has used up the challenge');
  t.is((await add(owner, credential)).status, 422);
  t.regex(mainText(await pageOf(t, await owner.get(LIST))), /You have no passkeys/);
});

test.serial('the id of a passkey of another user is refused', async (t) => {
  const [owner, other] = [await newUser(), await newUser()];
  await addPasskey(t, owner);
  const id = await withStore(
    stack,
    async ({ passkeys }) => (await passkeys.find().toArray()).at(-1)?.credentialID,
  );
  const { options, adding } = await startAdding(other);
  await authenticator.remove();
  authenticator = await addAuthenticator(tab.page);
  const credential = await createPasskey(tab.page, options);
  const own: Json = JSON.parse(credential);
  const replaced = (data: string) =>
    Buffer.from(
      Buffer.from(data, 'base64url')
        .toString('hex')
        .replace(
          Buffer.from(String(own.id), 'base64url').toString('hex'),
          Buffer.from(id ?? '', 'base64url').toString('hex'),
        ),
      'hex',
    ).toString('base64url');
  const { authenticatorData, ...response } = recordAt(own, 'response');
  const forged = { ...response, authenticatorData: replaced(String(authenticatorData)) };
  t.is((await add(adding, JSON.stringify({ ...own, id, rawId: id, response: forged }))).status, 422);
  t.regex(mainText(await pageOf(t, await other.get(LIST))), /You have no passkeys/);
  const again = await startAdding(other);
  const ordinary = await add(again.adding, await createPasskey(tab.page, again.options));
  t.is(ordinary.status, 303);
});

test.serial('a certificate that a device sends with a passkey makes the service fetch nothing', async (t) => {
  const lists = await startSite({ '/list.crl': 'none' });
  const { cert } = await issueCertificate({
    subject: '/CN=device',
    issuer: null,
    extensions: [`crlDistributionPoints=URI:${lists.origin}/list.crl`],
  });
  const { options, adding } = await startAdding(await newUser());
  const credential: Json = JSON.parse(await createPasskey(tab.page, options));
  const response = recordAt(credential, 'response');
  const authData = Buffer.from(String(response.authenticatorData), 'base64url');
  const attestationObject = appleAttestation(new X509Certificate(cert).raw, authData).toString('base64url');
  const added = await add(
    adding,
    JSON.stringify({ ...credential, response: { ...response, attestationObject } }),
  );
  lists.close();
  t.deepEqual(lists.requests, []);
  t.is(added.status, 303);
});

test.serial(
  'the forms need the session, its token and the password; passkeys of others are not found',
  async (t) => {
    const [owner, other] = [await newUser(), await newUser()];
    await addPasskey(t, owner);
    const id = await withStore(stack, async ({ passkeys }) =>
      String((await passkeys.find().toArray()).at(-1)?._id),
    );
    const password = 'wrong';
    const wrong = await owner.post(`${LIST}/add/options`, { name: 'Phone', password });
    t.is(wrong.status, 422);
    t.deepEqual(await wrong.json(), { message: 'The current password is wrong.' });
    for (const path of ['add/options', 'add', `${id}/rename`, `${id}/remove`]) {
      t.is((await owner.postRaw(`${LIST}/${path}`, { name: 'forged' })).status, 403, path);
      t.is((await anonymous().postRaw(`${LIST}/${path}`, {})).headers.get('location'), '/dashboard/sign-in');
    }
    for (const name of ['', 'x'.repeat(61)])
      t.is((await owner.post(`${LIST}/${id}/rename`, { name })).status, 422);
    for (const unknown of [id, String(new ObjectId()), 'x']) {
      t.is((await other.get(`${LIST}/${unknown}`)).status, 404);
      t.is((await other.post(`${LIST}/${unknown}/rename`, { name: 'forged' })).status, 404);
      t.is((await other.post(`${LIST}/${unknown}/remove`)).status, 404);
    }
    t.regex(mainText(await pageOf(t, await owner.get(LIST))), / Phone \d/);
    await signIn(site.baseUrl, owner);
    for (const path of ['generate-register-options', 'generate-authenticate-options', 'list-user-passkeys'])
      t.is((await fetch(`${stack.baseUrl}/api/auth/passkey/${path}`)).status, 404, path);
  },
);

test.serial('the number of passkeys is limited', async (t) => {
  const owner = await newUser();
  await addPasskey(t, owner);
  await withStore(stack, async ({ passkeys }) => {
    const row = (await passkeys.find().toArray()).at(-1) ?? t.fail('no passkey');
    const more = Array.from({ length: MAX_PASSKEYS - 1 }, (_, index) => ({
      ...row,
      _id: new ObjectId(),
      credentialID: `${row.credentialID}${index}`,
    }));
    await passkeys.insertMany(more);
  });
  const full = await owner.post(`${LIST}/add/options`, { name: 'Phone', password: owner.password });
  t.is(full.status, 422);
  t.regex(String((await jsonOf(full)).message), /20 passkeys, which is the limit/);
});

test.serial('sign-ins that were not completed are limited by address', async (t) => {
  await addPasskey(t, await newUser());
  const from = { 'X-Forwarded-For': '192.0.2.7' };
  for (let begun = 0; begun < 29; begun++) await startSignIn(from);
  t.is((await signInWithPasskey(from)).status, 303);
  await startSignIn(from);
  const limited = await anonymous().postRaw('/sign-in/passkey/options', {}, from);
  t.is(limited.status, 429);
  t.regex(String((await jsonOf(limited)).message), /Too many attempts/);
  t.is((await signInWithPasskey({ 'X-Forwarded-For': '192.0.2.8' })).status, 303);
});

test.serial(
  'the export lists passkeys without their keys, and closing the account deletes them',
  async (t) => {
    const owner = await newUser();
    await addPasskey(t, owner);
    t.is((await signInWithPasskey()).status, 303);
    const text = await (await owner.get('/settings/export.ndjson')).text();
    const rows = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const [row] = rows.filter(({ record }) => record === 'passkey');
    t.deepEqual(Object.keys(row), ['record', 'name', 'createdAt', 'lastUsedAt']);
    t.is(row.name, 'Phone');
    t.false(/publicKey|credentialID/.test(text));

    await startAdding(owner);
    const { email, password } = owner;
    t.is((await owner.post('/settings/close', { email, password })).status, 200);
    await refused(t, await signInWithPasskey(), /has been removed/);
    await withStore(stack, async ({ db }) => {
      for (const collection of await db.collections())
        t.false(JSON.stringify(await collection.find().toArray()).includes(email), collection.collectionName);
    });
  },
);
