import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
import test from 'ava';
import { MAX_FAILURES } from '../../schemas/webhookLimits.ts';
import { makeAccount, withStore } from '../helpers/account.ts';
import { callWith, visitor } from '../helpers/dashboard.ts';
import { recordAt } from '../helpers/json.ts';
import { oauthClient } from '../helpers/oauth.ts';
import { type Delivery, type Receiver, startReceiver } from '../helpers/receiver.ts';
import { freshCredentials, signUp } from '../helpers/session.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { totp } from '../helpers/totp.ts';
import { until } from '../helpers/until.ts';
import { makeUser } from '../helpers/users.ts';
import { untilDayLasts } from '../helpers/utcDay.ts';
import { findings, inspect, startTab, type Tab, tabTo, watchPages } from './browser.ts';

let stack: Stack;
let receiver: Receiver;
let tab: Tab;

test.before(async () => {
  stack = await startStack({ pools: ['orchestrator', 'delivery', 'cpu'] });
  receiver = await startReceiver();
  tab = await startTab(stack.baseUrl);
});
test.after.always(async () => {
  await tab?.close();
  receiver?.close();
  await stack?.stop();
});

/** Names of the copy buttons of the current page, each once. */
const copies = async (): Promise<(string | null)[]> => [
  ...new Set(await tab.page.$$eval('.copy', (all) => all.map((it) => it.getAttribute('aria-label')))),
];

test.serial('a new owner completes sign-up, key, call, webhook and key revocation', async (t) => {
  const { email, password } = freshCredentials();
  const { page, open, press, type, text } = tab;
  const look = () => inspect(t, tab);
  const secret = () => page.$eval('.secret', (element) => element.textContent);

  await open('/dashboard/sign-up');
  await look();
  await type('Email', email);
  await page.type('#password', password);
  await press('Sign up');
  t.regex(await text(), /Get started\s*0 of 3 done.*Available 250/);
  await look();

  await open('/dashboard/keys');
  await look();
  await type('Name', 'website');
  await press('Create key');
  const key = await secret();
  // The snippet that is shown has the key; the page reports the call that it makes.
  const python = await page.waitForSelector('::-p-aria([name="Python"][role="tab"])');
  await python?.click();
  t.true(
    await page.$eval(
      '[role="tabpanel"]:not([hidden]) pre',
      (pre, made) => pre.textContent.includes(made),
      key,
    ),
  );
  await look();
  t.is((await callWith(stack, key)).status, 200);
  await page.waitForSelector('.waiting.arrived');
  t.regex(await text(), /The first call has arrived: charged\. Show the call/);
  await Promise.all([page.waitForNavigation(), page.click('.waiting a')]);
  t.regex(await text(), /returned a result and was charged\. Tool hash-text/);
  t.deepEqual(await copies(), ['Copy Call id', 'Copy Request id']);
  await look();
  await open('/dashboard');
  t.regex(await text(), /Get started\s*2 of 3 done/);

  await open('/dashboard/calls');
  t.regex(await text(), /hash-text\scharged\s1/);
  const [moment = ''] = await page.$$eval('time', (times) => times.map((time) => time.textContent));
  const { startedAt } = await withStore(
    stack,
    async ({ calls }) => (await calls.findOne()) ?? t.fail('no call'),
  );
  // Tokyo is always nine hours ahead of UTC.
  const tokyo = new Date(startedAt.getTime() + 9 * 3_600_000).toISOString();
  t.is(moment, tokyo.slice(0, 16).replace('T', ' '));
  const hovers = await page.$$eval('time', (times) => times.map((time) => [time.title, time.dateTime]));
  t.true(hovers.length > 0);
  for (const [title, iso = ''] of hovers) t.is(title, `${iso.slice(0, 19).replace('T', ' ')} UTC`);
  t.is(await page.$eval('#zone', (zone) => zone.textContent), 'Times are in Asia/Tokyo.');
  await look();
  await open('/dashboard/ledger');
  t.regex(await text(), /charge\shash-text\s−1\s249/);
  await press('Recompute my balance');
  t.regex(await text(), /2 entries add up to 249 credits/);
  await look();

  await open('/dashboard/webhooks');
  await look();
  await type('Address', receiver.url);
  await press('Add endpoint');
  t.regex(await secret(), /^whsec_/);
  await look();
  await press('Send test');
  t.regex(await text(), /The test was delivered\. Your server answered 200/);
  t.is(receiver.received.filter(({ event }) => event === 'webhook.test').length, 1);
  t.regex(await text(), /webhook\.test\s1\s200/);
  await look();
  const tested = new URL(page.url()).pathname;
  await Promise.all([page.waitForNavigation(), page.click('main a[href*="/deliveries/"]')]);
  t.regex(await text(), /Payload.*webhook\.test.*Request POST http.*X-Service-Signature: sha256=/);
  await look();
  await open(tested);

  receiver.answer(() => ({ status: 500, body: 'broken' }));
  for (let failures = 1; failures <= 20; failures++) {
    await press('Send test');
    t.regex(await text(), new RegExp(`Consecutive failures ${failures} of 20`));
  }
  t.regex(await text(), /State disabled/);
  await look();
  receiver.answer(() => ({}));
  const endpoint = new URL(page.url()).pathname;
  t.true((await copies()).includes('Copy Endpoint id'));
  await open('/dashboard/keys');
  await type('Name', 'meanwhile');
  await press('Create key');
  await until('its event is held', async () => {
    await open('/dashboard/events?event=api_key.created&state=held');
    return /held 0 attempts, the endpoint is disabled/.test(await text());
  });
  await look();
  await open(endpoint);
  await press('Enable');
  t.regex(await text(), /State active Consecutive failures 0 of 20/);
  await page.click('.confirm summary');
  await press('Rotate the secret');
  await open('/dashboard/webhooks');
  t.regex(await text(), /new secret pending until/);
  await look();
  await press('Activate');
  t.regex(await text(), /only the new secret signs deliveries/);

  await open('/dashboard/events?state=held');
  await press('Resend api_key.created');
  t.regex(await text(), /1 delivery was queued again\./);
  await until('it is delivered', async () => {
    await open('/dashboard/events?event=api_key.created&state=delivered');
    return /delivered 1 attempt/.test(await text());
  });
  t.is(receiver.received.filter(({ event }) => event === 'api_key.created').length, 1);
  await look();

  await open('/dashboard/credits');
  await look();
  await press('1,000 credits for $9.00');
  t.regex(await text(), /Test checkout: no payment is made/);
  await look();
  await press('Complete the test purchase');
  t.regex(await text(), /The credits were added to your account\..*Available 1,249/);
  t.deepEqual(await copies(), ['Copy Payment']);
  await Promise.all([page.waitForNavigation(), page.click('td a[href*="/receipts/"]')]);
  t.regex(await text(), /Total USD 9\.00 Payment None \(test checkout\)/);
  await look();

  await open('/dashboard/keys');
  await page.click('tr:last-child .confirm summary');
  await press('Revoke');
  t.regex(await text(), /revoked/);
  t.is((await callWith(stack, key)).status, 401);
  await look();

  // The owner sees why the key fails now.
  await until('the refusal is listed', async () => {
    await open('/dashboard/calls/refused');
    return /invalid_api_key/.test(await text());
  });
  await look();

  await open('/dashboard/settings');
  t.deepEqual(await copies(), ['Copy Account id']);
  for (const path of [
    '/dashboard/tools',
    '/dashboard/tools/qr-generate',
    '/dashboard/settings',
    '/dashboard',
  ]) {
    await open(path);
    await look();
  }
  await open('/dashboard/tools/qr-generate?example=1');
  await press('Run (1 credit)');
  t.true(
    await page.$eval(
      '.picture',
      (picture) => picture instanceof HTMLImageElement && picture.naturalWidth === 300,
    ),
  );
  await look();
  t.deepEqual(tab.complaints, []);
});

test.serial(
  'a run shows its time and step, can be cancelled, and shows its result or what to correct',
  async (t) => {
    const { page, open, type, press, text } = tab;
    // This stack has no worker for network tools, so the call waits.
    await open('/dashboard/tools/ping');
    await type('host (required)', 'example.com');
    // DevTools does not reach the page while it waits for the response, so the page presses its buttons itself.
    const cancelled = page.waitForNavigation({ waitUntil: 'load' });
    await page.evaluate(() => {
      const run = document.querySelector<HTMLButtonElement>('[data-run]');
      const progress = document.querySelector('.progress');
      run?.click();
      const timer = setInterval(() => {
        if (!progress?.textContent.startsWith('Waiting')) return;
        clearInterval(timer);
        sessionStorage.setItem('shown', `${run?.textContent} ${run?.disabled} ${progress.textContent}`);
        const [cancel] = [...document.querySelectorAll('button')].filter((it) => it.textContent === 'Cancel');
        cancel?.click();
      }, 100);
    });
    await cancelled;
    t.regex(
      (await page.evaluate(() => sessionStorage.getItem('shown'))) ?? '',
      /^Running… [1-9]\d* s true Waiting for a free worker\.$/,
    );
    t.regex(await text(), /Call cancelled.*Nothing was charged\. Error cancelled/);
    await inspect(t, tab);
    await open('/dashboard/calls');
    await press('Keep them for 24 hours');
    t.regex(await text(), /Input and output of calls from now on are kept for 24 hours/);
    await inspect(t, tab);
    await open('/dashboard/tools/hash-text');
    await type('text (required)', 'abc');
    await press('Run (1 credit)');
    t.regex(await text(), /1 credit charged.*Result/);
    await inspect(t, tab);
    const details = await page.waitForSelector('main a::-p-text(Details of the call)');
    await Promise.all([page.waitForNavigation(), details?.click()]);
    await until('the call is kept', async () => {
      await page.reload();
      return /Input.*"text": "abc".*Output/.test(await text());
    });
    await inspect(t, tab);
    await open('/dashboard/tools/hash-text');
    await page.$eval('[name="algorithm"]', (field) =>
      field.insertAdjacentHTML('beforeend', '<option selected>none</option>'),
    );
    await press('Run (1 credit)');
    t.regex(await text(), /Invalid input.*Nothing was charged\. Error invalid_input, request req_/);
    await inspect(t, tab);
    tab.complaints.splice(
      0,
      Number.POSITIVE_INFINITY,
      // A request for the step is cut off when the page of the result arrives.
      ...tab.complaints.filter((it) => !/(?:runs\/\S+|cancel) failed|409|422/.test(it)),
    );
    t.deepEqual(tab.complaints, []);
  },
);

test.serial('skip link, command palette and tabs work with the keyboard alone', async (t) => {
  const { page, open, text } = tab;
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '');
  await page.setViewport({ width: 1440, height: 900 });
  await open('/dashboard/tools');
  await page.keyboard.press('Tab');
  t.is(await focused(), 'Skip to the content');
  await page.keyboard.press('Enter');
  t.is(await page.evaluate(() => document.activeElement?.id), 'main');
  await page.focus('#q');
  await page.keyboard.type('qr');
  t.deepEqual(
    await page.$$eval('.tools li:not([hidden]) strong', (names) => names.map((it) => it.textContent)),
    ['QR code'],
  );

  await page.keyboard.down('Control');
  await page.keyboard.press('k');
  await page.keyboard.up('Control');
  await page.waitForSelector('dialog[open]');
  await page.keyboard.type('hash text');
  await page.waitForFunction(
    () => document.querySelector('[role="option"]')?.textContent === 'Hash text: hash-text',
  );
  t.deepEqual(await findings(page), []);
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
  t.is(new URL(page.url()).pathname, '/dashboard/tools/hash-text');

  await page.focus('#text');
  await page.keyboard.type('abc');
  await page.focus('[data-run]');
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
  t.regex(await text(), /ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad/);

  await page.focus('[role="tab"][aria-selected="true"]');
  const before = await focused();
  await page.keyboard.press('ArrowRight');
  t.not(await focused(), before);
  t.is(
    await page.$eval('[role="tabpanel"]:not([hidden]) pre', (pre) => pre.getAttribute('aria-label')),
    await focused(),
  );
  t.deepEqual(tab.complaints, []);
});

test.serial('a call is made and read with the keyboard alone, with a visible focus', async (t) => {
  const { page, open, text } = tab;
  const enter = () => Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
  const { email, password } = freshCredentials();
  await signUp(stack.baseUrl, { email, password });
  await page.deleteCookie(...(await page.cookies()));
  await page.setViewport({ width: 1280, height: 720 });

  await open('/dashboard/sign-in');
  await tabTo(t, tab, 'Email');
  await page.keyboard.type(email);
  await tabTo(t, tab, 'Password');
  await page.keyboard.type(password);
  await enter();
  await tabTo(t, tab, 'Keys');
  await enter();
  await tabTo(t, tab, 'Skip to the content');
  await page.keyboard.press('Enter');
  await tabTo(t, tab, 'Name');
  await page.keyboard.type('from the keyboard');
  await tabTo(t, tab, 'Create key');
  await enter();
  t.regex(await text(), /Your new key “from the keyboard” ut_\w+/);

  await tabTo(t, tab, 'Tools');
  await enter();
  await tabTo(t, tab, 'Hash text');
  await enter();
  // The whole page is passed, so no element keeps the focus.
  await tabTo(t, tab, 'Status of the service');
  await tabTo(t, tab, 'Skip to the content');
  await page.keyboard.press('Enter');
  await tabTo(t, tab, 'text (required)');
  await page.keyboard.type('abc');
  await tabTo(t, tab, 'Run (1 credit)');
  await enter();
  t.regex(await text(), /1 credit charged.*ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad/);
  await tabTo(t, tab, 'Details of the call');
  await enter();
  t.regex(await text(), /The call returned a result and was charged\. Tool hash-text/);
  await tabTo(t, tab, 'Sign out');
  await enter();
  await open('/dashboard/calls');
  t.is(new URL(page.url()).pathname, '/dashboard/sign-in');
  t.deepEqual(tab.complaints, []);
});

test.serial('a visitor of the landing page makes the first call after four forms and links', async (t) => {
  const { page, open, press, follow, type, text } = tab;
  const { email, password } = freshCredentials();
  await page.deleteCookie(...(await page.cookies()));
  const started = performance.now();
  const pages = watchPages(tab);
  await open('/');
  await follow('Create an API key');
  await type('Email', email);
  await page.type('#password', password);
  await press('Sign up');
  await follow('Create a key');
  await type('Name', 'first');
  await press('Create key');
  const curl = await page.waitForSelector('::-p-aria([name="curl"][role="tab"])');
  await curl?.click();
  const command = await page.$eval('[role="tabpanel"]:not([hidden]) pre', (pre) => pre.textContent);
  const { stdout } = await promisify(execFile)('sh', ['-c', command]);
  t.like(JSON.parse(stdout), { algorithm: 'sha256' });
  await page.waitForSelector('.waiting.arrived');
  t.regex(await text(), /The first call has arrived: charged/);
  t.log(`${((performance.now() - started) / 1000).toFixed(1)} s, without the time of reading and typing`);
  t.deepEqual(pages, ['/', '/dashboard/sign-up', '/dashboard', '/dashboard/keys', '/dashboard/keys']);
  t.deepEqual(tab.complaints, []);
});

test.serial('an owner finds out why a webhook failed, and resends the event', async (t) => {
  const { page, open, press, follow, type, text } = tab;
  const owner = freshCredentials();
  await page.deleteCookie(...(await page.cookies()));
  const { post } = visitor(stack, await signUp(stack.baseUrl, owner), owner);
  const reference = randomUUID();
  const id = `whe_${reference}`;
  receiver.answer(() => ({ status: 503, body: 'database is read-only' }));
  await post('/webhooks', { url: receiver.url, events: 'api_key.created', reference });
  await post('/keys', { name: 'shop', scope: 'tools' });
  const isShop = ({ body }: Delivery) => body.includes('"name":"shop"');
  await until('the event is attempted', async () => receiver.received.some(isShop));
  for (let failures = 1; failures < MAX_FAILURES; failures++) await post(`/webhooks/${id}/test`);
  receiver.answer(() => ({}));

  await open('/dashboard/sign-in');
  await type('Email', owner.email);
  await page.type('#password', owner.password);
  await press('Sign in');
  const pages = watchPages(tab);
  t.regex(await text(), /The webhook endpoint \S+ is disabled\. Its events are held/);
  await follow(receiver.url);
  t.regex(await text(), /api_key\.created\s*1\s*503\s*[\d.]+ m?s\s*database is read-only/);
  const row = await page.waitForSelector('tr ::-p-text(api_key.created)');
  const attempt = await row?.waitForSelector('::-p-xpath(ancestor::tr//a)');
  await Promise.all([page.waitForNavigation(), attempt?.click()]);
  t.regex(await text(), /held.*name.*shop.*HTTP status 503.*database is read-only/);
  const delivery = new URL(page.url()).pathname;
  await follow('Enable the endpoint');
  await press('Enable');
  await open(delivery);
  await press('Resend');
  await until('the event is delivered', async () => {
    await open(delivery);
    return /The endpoint received the event.*Attempt 2 200/.test(await text());
  });
  t.deepEqual(pages.slice(0, 2), [`/dashboard/webhooks/${id}`, delivery]);
  t.is(receiver.received.filter(isShop).length, 2);
  t.deepEqual(tab.complaints, []);
});

test.serial('every page works without JavaScript', async (t) => {
  const { page, open, press, text } = tab;
  await page.setJavaScriptEnabled(false);
  await open('/dashboard/tools/hash-text?example=1');
  await press('Run (1 credit)');
  t.regex(await text(), /1 credit charged.*curl .*Node\.js .*Python/);
  for (const path of [
    '',
    '/tools?q=qr',
    '/calls',
    '/calls/refused',
    '/ledger',
    '/keys',
    '/clients',
    '/webhooks',
    '/events',
    '/credits',
    '/settings',
  ]) {
    await open(`/dashboard${path}`);
    t.is(await page.$eval('main', (main) => main.querySelectorAll('h1').length), 1, path);
    t.deepEqual(
      await page.$$eval('main button', (all) => all.filter((it) => it.type === 'button').length),
      0,
      path,
    );
  }
  const wide = page.viewport();
  await page.setViewport({ width: 390, height: 844 });
  await open('/dashboard');
  t.false(await page.$eval('#menu', (menu) => menu.checkVisibility()));
  await page.click('header .open');
  await page.waitForSelector('#menu:popover-open', { visible: true });
  await Promise.all([page.waitForNavigation(), page.click('#menu a[href="/dashboard/settings"]')]);
  t.is(await page.$eval('h1', (title) => title.textContent), 'Settings');
  await page.setViewport(wide);
  await page.setJavaScriptEnabled(true);
  t.deepEqual(tab.complaints, []);
});

test.serial('an owner limits a key and rotates its secret', async (t) => {
  const { page, open, press, type, text } = tab;
  const secret = () => page.$eval('.secret', (element) => element.textContent);
  const unfold = async (summary: string) =>
    (await page.waitForSelector(`main summary::-p-text(${summary})`))?.click();
  await open('/dashboard/keys');
  await type('Name', 'shop');
  await unfold('Set budgets and limits');
  await type('Credits per day (UTC)', '100');
  await type('Allowed networks', '203.0.113.0/24 2001:db8:1234:5678::/64');
  await inspect(t, tab);
  await press('Create key');
  const first = await secret();
  await open('/dashboard/keys');
  await inspect(t, tab);
  await Promise.all([page.waitForNavigation(), page.click('td a')]);
  t.regex(await text(), /shop.*Spent today \(UTC\) 0 of 100 credits/s);
  t.deepEqual(await copies(), ['Copy Prefix', 'Copy Key id']);
  await inspect(t, tab);
  await type('Credits per month (UTC)', '2000');
  await press('Save');
  t.regex(await text(), /The key was changed.*0 of 2,000 credits/s);
  await unfold('Rotate the secret');
  await press('Rotate the secret');
  t.not(await secret(), first);
  t.regex(await text(), /The old secret .* is valid until/s);
  await inspect(t, tab);
  t.deepEqual(tab.complaints, []);
});

test.serial('an owner connects an agent, revokes it, and signs the command in', async (t) => {
  await untilDayLasts(120_000);
  const { page, open, press, type, text } = tab;
  const callback = createServer((_request, response) => response.end('Connected'));
  await once(callback.listen(0, '127.0.0.1'), 'listening');
  const { port } = recordAt(callback.address());
  const app = oauthClient(stack.baseUrl, 'Assistant', { redirectUrl: `http://127.0.0.1:${port}/callback` });
  await app.connect().catch(() => undefined);
  const owner = freshCredentials();
  await signUp(stack.baseUrl, owner);
  await page.deleteCookie(...(await page.cookies()));
  await page.goto(String(app.provider.authorizationUrl), { waitUntil: 'load' });
  await type('Email', owner.email);
  await page.type('#password', owner.password);
  await press('Sign in');
  t.regex(await text(), /Assistant asks to use your account/);
  await inspect(t, tab);
  await type('Credits per month (UTC)', '20');
  await press('Connect');
  await app.finish(new URL(page.url()));
  callback.close();
  callback.closeAllConnections();
  await using connection = await app.connect();
  const result = await connection.client.callTool({ name: 'hash-text', arguments: { text: 'abc' } });
  t.like(result._meta, { charged: 1 });

  await open('/dashboard/clients');
  t.regex(await text(), /Assistant.*all tools, account.*1 of 20/s);
  await inspect(t, tab);
  await page.click('td summary');
  await press('Revoke');
  t.regex(await text(), /The connection was revoked.*No app is connected/s);

  const asked = { method: 'POST', body: new URLSearchParams({ device: 'laptop' }) };
  const started = await fetch(`${stack.baseUrl}/api/auth/device/code`, asked);
  const { verification_uri_complete } = recordAt(await started.json());
  await open('/dashboard/device');
  await inspect(t, tab);
  await page.goto(String(verification_uri_complete), { waitUntil: 'load' });
  await inspect(t, tab);
  await press('Approve');
  t.regex(await text(), /Approved\. Return to the command line/);
  t.deepEqual(tab.complaints, []);
});
test.serial(
  'an owner turns on two-factor authentication without scripts, and closes the account',
  async (t) => {
    const { email, password } = freshCredentials();
    const { page, open, press, type, text } = tab;
    const look = () => inspect(t, tab);
    await page.deleteCookie(...(await page.cookies()));
    await open('/dashboard/sign-up');
    await type('Email', email);
    await page.type('#password', password);
    await press('Sign up');
    await open('/dashboard/settings/profile');
    await look();
    await page.setJavaScriptEnabled(false);
    await open('/dashboard/settings/two-factor');
    await page.type('#password', password);
    await press('Set up');
    await page.setJavaScriptEnabled(true);
    await look();
    const key = /Key: ([A-Z2-7 ]+)/.exec(await text())?.[1]?.replaceAll(' ', '') ?? '';
    await page.setJavaScriptEnabled(false);
    await type('Code of the app', totp(key));
    await press('Turn on two-factor authentication');
    await page.setJavaScriptEnabled(true);
    t.regex(await text(), /is on.*10 backup codes are left/s);
    for (const summary of await page.$$('main summary')) await summary.click();
    await look();

    await page.deleteCookie(...(await page.cookies()));
    await open('/dashboard/sign-in');
    await type('Email', email);
    await page.type('#password', password);
    await press('Sign in');
    await look();
    await type('Code', totp(key));
    await press('Sign in');
    t.regex(await text(), /Available 250/);
    await open('/dashboard/settings');
    await look();
    await open('/dashboard/settings/security-log');
    t.regex(await text(), /Signed in.*authenticator app.*Two-factor authentication turned on/s);
    await look();
    await open('/dashboard/settings/close');
    await look();
    await type('Email address of the account', email);
    await page.type('#password', password);
    await press('Close the account');
    t.regex(await text(), /Your account is closed/);
    await look();
    t.deepEqual(tab.complaints, []);
  },
);

test.serial('an operator sees the pools and an account', async (t) => {
  const { page, open, press, type, text } = tab;
  const operator = await makeUser(stack, 'operator');
  await page.deleteCookie(...(await page.cookies()));
  await open('/dashboard/forgot-password');
  await inspect(t, tab);
  await open('/dashboard/sign-in');
  await inspect(t, tab);
  await type('Email', operator.email);
  await page.type('#password', operator.password);
  await press('Sign in');
  await open('/dashboard/operator');
  t.regex(await text(), /tools-cpu ok/);
  await inspect(t, tab);
  await Promise.all([page.waitForNavigation(), page.click('td a')]);
  await inspect(t, tab);
  await page.type('#amount', '98998987');
  await type('Reason', 'the balance of a large customer');
  await press('Review the adjustment');
  t.regex(await text(), /Balance 100 now, 98,999,087 after/);
  await inspect(t, tab);
  await press('Add 98,998,987 credits');
  t.regex(await text(), /Balance 98,99/);
  await inspect(t, tab);
  for (const path of ['pools', 'shares', 'sales', 'incidents', 'notice']) {
    await open(`/dashboard/operator/${path}`);
    await inspect(t, tab);
  }
  await type('Text', 'The tools that use a browser are slow at the moment. We are adding workers.');
  await press('Publish the notice');
  await inspect(t, tab);
  await open('/dashboard/keys');
  const dismiss = await page.waitForSelector('aside ::-p-aria([name="Dismiss"][role="button"])');
  await Promise.all([page.waitForNavigation(), dismiss?.click()]);
  t.is(new URL(page.url()).pathname, '/dashboard/keys');
  t.is(await page.$('aside'), null);
  // The newest account is the operator's own.
  await open('/dashboard/ledger');
  t.regex(await text(), /adjustment/);
  await inspect(t, tab);
  t.deepEqual(tab.complaints, []);
});

test.serial('a visitor finds an operation in the reference, and runs it with a key', async (t) => {
  const { page, open, follow, text } = tab;
  const { accountKey } = await makeAccount(stack, 7);
  await page.setViewport({ width: 1440, height: 900 });
  await open('/docs/reference');
  await follow('GET /api/v1/account/calls');
  t.is(new URL(page.url()).pathname, '/docs/reference/list-calls');
  await page.click('.run summary');
  await page.type('#run-key', accountKey);
  await page.type('#run-query-limit', '1');
  await page.click('.run form button');
  await page.waitForSelector('.run .ending .code');
  t.regex(await text(), /Status 200\..*"items": \[\]/);
  t.false(page.url().includes(accountKey) || (await page.content()).includes(accountKey));
  await inspect(t, tab);
  for (const summary of await page.$$('.example summary')) await summary.click();
  for (const path of ['/docs/reference', '/docs/reference/create-key', '/docs/reference/events']) {
    await open(path);
    await inspect(t, tab);
    for (const value of ['light', 'dark']) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }]);
      t.deepEqual(await findings(page, 'minor'), [], `${path} ${value}`);
    }
  }
  t.deepEqual(tab.complaints, []);
});

test.serial('the site is accessible in both colour schemes, and works without its scripts', async (t) => {
  const { page, open } = tab;
  for (const path of [
    '/',
    '/pricing?ping=1000',
    '/contact',
    '/terms',
    '/privacy',
    '/status',
    '/docs/webhooks',
    '/docs/tools/website-screenshot',
    '/docs/errors',
    '/docs/self-hosting',
    '/docs/search?q=refund',
  ]) {
    await open(path);
    await inspect(t, tab);
    for (const value of ['light', 'dark']) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }]);
      t.deepEqual(await findings(page, 'minor'), [], `${path} ${value}`);
    }
  }
  // An old link to an operation of the reference.
  await open('/docs#/Tools/hashText');
  await page.waitForFunction("location.pathname === '/docs/reference'");
  t.is(new URL(page.url()).hash, '#/Tools/hashText');

  await open('/docs/quickstart');
  await page
    .browserContext()
    .overridePermissions(stack.baseUrl, ['clipboard-read', 'clipboard-write', 'clipboard-sanitized-write']);
  await page.bringToFront();
  await page.click('figure.code button');
  await page.waitForFunction("document.querySelector('figure.code button').textContent === 'Copied'");
  t.regex(
    await page.evaluate(() => navigator.clipboard.readText()),
    /^read -r UTILITY_TOOLS_API_KEY && export UTILITY_TOOLS_API_KEY$/,
  );

  // The menu of narrow screens opens without scripts.
  await page.setJavaScriptEnabled(false);
  await page.setViewport({ width: 390, height: 800 });
  await open('/docs/quickstart?narrow');
  await page.click('.open');
  await page.waitForSelector('#menu:popover-open', { visible: true });
  await Promise.all([page.waitForNavigation(), page.click('#menu a[href="/docs/files"]')]);
  await page.setJavaScriptEnabled(true);
  t.deepEqual(tab.complaints, []);
});

test.serial('no page of the site has an accessibility violation of any impact', async (t) => {
  t.timeout(900_000);
  const { page, open } = tab;
  const sitemap = await (await fetch(`${stack.baseUrl}/sitemap.xml`)).text();
  const paths = [...sitemap.matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, url = '']) => new URL(url).pathname);
  t.true(paths.length > 100);
  for (const [index, path] of paths.entries()) {
    const value = index % 2 === 0 ? 'light' : 'dark';
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }]);
    await open(path);
    t.deepEqual(await findings(page, 'minor'), [], `${path} ${value}`);
  }
});

test.serial(
  'visitors try a tool without an account, run it with a key, and choose the colours',
  async (t) => {
    const { page, open, text } = tab;
    const press = (selector: string) => page.click(`${selector} button`);
    await page.setViewport({ width: 1440, height: 900 });
    await open('/');
    await press('form[action="/try/qr-generate"]');
    await page.waitForSelector('.ending img[src^="data:image/png"]');
    await page.click('#hash-text-text', { count: 3 });
    await page.type('#hash-text-text', 'abc');
    await press('form[action="/try/hash-text"]');
    await page.waitForFunction("/ba7816bf8f01cfea41/.test(document.querySelector('main').textContent)");
    t.is(new URL(page.url()).pathname, '/');
    await inspect(t, tab);

    await page.setJavaScriptEnabled(false);
    await open('/?without');
    await Promise.all([page.waitForNavigation(), press('form[action="/try/qr-generate"]')]);
    t.is(new URL(page.url()).pathname, '/try/qr-generate');
    t.is(await page.$$eval('.ending img', (images) => images.length), 1);
    await open('/docs/tools/qr-generate?without');
    t.is(await page.$$eval('.run:not([hidden])', (forms) => forms.length), 0);
    await page.setJavaScriptEnabled(true);
    await open('/try/qr-generate');
    t.deepEqual(await findings(page), []);

    const { toolsKey } = await makeAccount(stack, 5);
    await open('/docs/tools/qr-generate');
    await page.click('.run summary');
    await page.type('#run-key', toolsKey);
    await press('.run');
    await page.waitForSelector('.run .ending img');
    t.is(
      await page.$eval('#run-input', (input) => input.textContent),
      '{\n  "text": "https://example.com/"\n}',
    );
    t.regex(await text(), /Status 200\. Credits charged: 1, left: 4\./);
    t.false(page.url().includes(toolsKey) || (await page.content()).includes(toolsKey));
    await inspect(t, tab);

    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.click('.scheme');
    const dark = await ground();
    t.not(dark, light);
    await open('/docs');
    t.is(await ground(), dark);
    const scheme = () => page.evaluate(() => getComputedStyle(document.documentElement).colorScheme);
    await open('/dashboard/sign-in');
    t.is(await scheme(), 'dark', 'the dashboard has the same colours');
    await open('/docs');
    await page.click('.scheme');
    t.is(await ground(), light);
    await page.evaluate(() => localStorage.clear());
    t.deepEqual(tab.complaints, []);
  },
);
