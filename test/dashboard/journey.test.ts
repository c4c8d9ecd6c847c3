import test from 'ava';
import { withStore } from '../helpers/account.ts';
import { type Receiver, startReceiver } from '../helpers/receiver.ts';
import { freshCredentials, makeUser } from '../helpers/session.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { findings, inspect, startTab, type Tab } from './browser.ts';

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

const callWith = (key: string) =>
  fetch(`${stack.baseUrl}/api/v1/tools/hash-text`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: '{"text":"abc"}',
  });

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
  t.is((await callWith(key)).status, 200);
  await page.waitForSelector('.waiting.arrived');
  t.regex(await text(), /The first call has arrived: charged\. Show the call/);
  await Promise.all([page.waitForNavigation(), page.click('.waiting a')]);
  t.regex(await text(), /returned a result and was charged\. Tool hash-text/);
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
  t.is(await page.$eval('#zone', (zone) => zone.textContent), 'Times are in Asia/Tokyo.');
  await look();
  await open('/dashboard/ledger');
  t.regex(await text(), /charge\shash-text\s-1\s249/);
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

  receiver.answer(() => ({ status: 500, body: 'broken' }));
  for (let failures = 1; failures <= 20; failures++) {
    await press('Send test');
    t.regex(await text(), new RegExp(`Consecutive failures ${failures} of 20`));
  }
  t.regex(await text(), /State disabled/);
  await look();
  receiver.answer(() => ({}));
  const endpoint = new URL(page.url()).pathname;
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
  await look();

  await open('/dashboard/keys');
  await page.click('tr:last-child .confirm summary');
  await press('Revoke');
  t.regex(await text(), /revoked/);
  t.is((await callWith(key)).status, 401);
  await look();

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
      (picture) => picture instanceof HTMLImageElement && picture.naturalWidth === 64,
    ),
  );
  await look();
  t.deepEqual(tab.complaints, []);
});

test.serial('a run shows its time, and its result or what to correct', async (t) => {
  const { page, open, type, press, text } = tab;
  // This stack has no worker for network tools, so the call waits.
  await open('/dashboard/tools/ping');
  await type('host (required)', 'example.com');
  // DevTools does not reach the page while it waits for the response, so the page presses its button itself.
  const shown = await page.evaluate(
    () =>
      new Promise<string>((resolve) => {
        const run = document.querySelector<HTMLButtonElement>('[data-run]');
        run?.click();
        setTimeout(() => {
          resolve(`${run?.textContent} ${run?.disabled}`);
          window.stop();
        }, 2500);
      }),
  );
  t.regex(shown, /^Running… [1-9] s true$/);
  await open('/dashboard/tools/hash-text');
  await type('text (required)', 'abc');
  await press('Run (1 credit)');
  t.regex(await text(), /1 credit charged.*Result/);
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
    ...tab.complaints.filter((it) => !/ping failed|422/.test(it)),
  );
  t.deepEqual(tab.complaints, []);
});

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
    '/ledger',
    '/keys',
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
  await press('Adjust');
  t.regex(await text(), /Balance 98,99/);
  await inspect(t, tab);
  // The newest account is the operator's own.
  await open('/dashboard/ledger');
  t.regex(await text(), /adjustment/);
  await inspect(t, tab);
  t.deepEqual(tab.complaints, []);
});

test.serial('the reference is accessible, with its sections open and without scripts', async (t) => {
  const { page, open } = tab;
  await page.setViewport({ width: 1440, height: 900 });
  await open('/docs/reference');
  await page.waitForSelector('.opblock');
  await page.click('#operations-Tools-hashText .opblock-summary-control');
  await page.waitForSelector('.responses-inner .examples-select-element');
  t.deepEqual(await findings(page), []);
  t.is(new URL(page.url()).hash, '#/Tools/hashText');

  await page.setJavaScriptEnabled(false);
  await open('/docs/reference?without');
  const left = await page.$eval(
    'noscript p',
    (it) => it.getBoundingClientRect().left + parseFloat(getComputedStyle(it).paddingLeft),
  );
  await page.setJavaScriptEnabled(true);
  t.true(left >= 16, `${left}`);
  t.deepEqual(tab.complaints, []);
});

test.serial('the site is accessible in both colour schemes, and works without its scripts', async (t) => {
  const { page, open } = tab;
  for (const path of ['/', '/docs/webhooks', '/docs/tools/website-screenshot', '/docs/errors']) {
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
  t.regex(await page.evaluate(() => navigator.clipboard.readText()), /^export API_KEY=/);

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
