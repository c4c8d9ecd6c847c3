import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import type { HTTPRequest } from 'puppeteer';
import sharp from 'sharp';
import Stripe from 'stripe';
import { callWith, visitor } from '../helpers/dashboard.ts';
import { listen } from '../helpers/egress.ts';
import { recordAt, recordsAt } from '../helpers/json.ts';
import { connectMcp } from '../helpers/mcp.ts';
import { type Credentials, freshCredentials, signIn } from '../helpers/session.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { type StripeMock, startStripeMock } from '../helpers/stripeMock.ts';
import { until } from '../helpers/until.ts';
import { startTab, type Tab } from './browser.ts';
import { type Recording, startRecording } from './recording.ts';

/** The most clicks that each task may take, with the fields that it fills in. `docs/quality.md` has the same figures. */
const TASKS = {
  'sign up, and take a first screenshot': { clicks: 5, fields: 3 },
  'find out why a key fails': { clicks: 1, fields: 0 },
  'buy credits, and get an invoice': { clicks: 6, fields: 3 },
  'find how to save a PNG': { clicks: 2, fields: 1 },
  'let an agent take a screenshot': { clicks: 2, fields: 1 },
} as const;

/** Seconds within which a person can do each task, without the time of the service. */
const PERSON_SECONDS = 90;

const LIMIT_MS = 300_000;
const KEY = 'sk_test_4eC39HqLyjWDarjtT1zdp7dc';
const SECRET = 'whsec_Ukm9N6tPFGOwFzSBlQTvvgnHO7d0CpFz';
const STRIPE = 'https://checkout.stripe.com/';

const owned = new AsyncDisposableStack();
let stack: Stack;
let stripe: StripeMock;
let tab: Tab;
let owner: Credentials;
/** Address of the page of which screenshots are taken. */
let target: string;

test.before(async (t) => {
  t.timeout(LIMIT_MS);
  const site = createServer((_, response) =>
    response
      .setHeader('Content-Type', 'text/html')
      .end('<title>Bakery</title><body style="background: #fc0">Bread'),
  );
  owned.defer(() => site[Symbol.asyncDispose]());
  const host = `127.0.0.1:${await listen(site)}`;
  target = `http://${host}/`;
  stripe = owned.adopt(await startStripeMock((line) => t.log(line)), (it) => it.stop());
  const env = {
    EGRESS_ALLOW: host,
    STRIPE_SECRET_KEY: KEY,
    STRIPE_WEBHOOK_SECRET: SECRET,
    STRIPE_API_URL: stripe.url,
    CREDIT_PACKS: '1000:9.00 EUR',
    OPERATOR_NAME: 'Example Tools Ltd',
    OPERATOR_ADDRESS: '1 Example Street, Berlin',
    SUPPORT_EMAIL: 'help@tools.example',
    OPERATOR_VAT_ID: 'DE123456789',
    INVOICE_TAX_RATE: '19',
  };
  stack = owned.adopt(await startStack({ pools: ['orchestrator', 'cpu', 'browser'], env }), (it) =>
    it.stop(),
  );
  tab = owned.adopt(await startTab(stack.baseUrl), (it) => it.close());
  await tab.page.setViewport({ width: 1280, height: 800 });
  owner = freshCredentials();
});
test.after.always(() => owned.disposeAsync());

/** Reports to the service that a checkout was paid, as Stripe does. */
async function reportPayment(checkout: URLSearchParams): Promise<void> {
  const example = await fetch(`${stripe.url}/v1/checkout/sessions/cs_test_1`, {
    headers: { Authorization: `Bearer ${KEY}` },
  });
  const payload = JSON.stringify({
    id: `evt_${randomUUID()}`,
    object: 'event',
    api_version: Stripe.API_VERSION,
    created: Math.floor(Date.now() / 1000),
    livemode: false,
    type: 'checkout.session.completed',
    data: {
      object: {
        ...recordAt(await example.json()),
        mode: 'payment',
        payment_status: 'paid',
        payment_intent: `pi_${randomUUID().replaceAll('-', '')}`,
        client_reference_id: checkout.get('client_reference_id'),
        amount_total: 900,
        currency: 'eur',
        metadata: Object.fromEntries(
          ['accountId', 'credits', 'amount', 'currency'].map((name) => [
            name,
            checkout.get(`metadata[${name}]`),
          ]),
        ),
      },
    },
  });
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Stripe-Signature': Stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET }),
  };
  const { status } = await fetch(`${stack.baseUrl}/stripe/webhook`, {
    method: 'POST',
    headers,
    body: payload,
  });
  if (status !== 200) throw new Error(`the payment was answered with ${status}`);
}

/** Shows a page in place of Stripe's, whose only link pays and returns to the shop. */
async function standInForStripe(request: HTTPRequest): Promise<void> {
  if (!request.url().startsWith(STRIPE)) return request.continue();
  if (!request.url().endsWith('/paid')) {
    const body = `<!doctype html><title>Stripe</title><a href="${STRIPE}paid">Pay €9.00</a>`;
    return request.respond({ contentType: 'text/html; charset=utf-8', body });
  }
  const checkout = stripe.requests.findLast(({ path }) => path === '/v1/checkout/sessions')?.form;
  if (checkout === undefined) return request.abort();
  await reportPayment(checkout);
  const Location = checkout.get('success_url') ?? '';
  return request.respond({ status: 303, headers: { Location } });
}

/** Does a task, logs its steps, and checks that it takes no more clicks than before. */
async function perform(
  t: ExecutionContext,
  task: keyof typeof TASKS,
  steps: (user: Recording) => Promise<void>,
): Promise<void> {
  t.timeout(LIMIT_MS);
  const user = startRecording(tab);
  const started = performance.now();
  try {
    await steps(user);
  } finally {
    const seconds = (performance.now() - started) / 1000;
    t.log(
      `${task}: ${user.clicks} clicks, ${user.fields} fields, ${seconds.toFixed(1)} s of the browser, ${user.effort.toFixed(0)} s of a person`,
    );
    for (const step of user.steps) t.log(`  ${step}`);
  }
  t.true(user.effort < PERSON_SECONDS, `${user.effort} s`);
  const { clicks, fields } = TASKS[task];
  t.true(user.clicks <= clicks, `${user.clicks} clicks`);
  t.true(user.fields <= fields, `${user.fields} fields`);
  t.deepEqual(tab.complaints, []);
}

/** Creates a key in the dashboard and reads it from the page. */
async function makeKey(user: Recording, name: string): Promise<string> {
  await user.click('Keys');
  await user.type('Name', name);
  await user.click('Create key');
  return /ut_[0-9A-Za-z]{36}/.exec(await tab.text())?.[0] ?? '';
}

test.serial('a visitor signs up and sees the first screenshot', (t) =>
  perform(t, 'sign up, and take a first screenshot', async (user) => {
    await user.open('/');
    await user.click('Create an API key');
    await user.type('Email', owner.email);
    await user.type('Password', owner.password);
    await user.click('Sign up');
    await user.click('Tools');
    await user.click('Website screenshot');
    await user.type('url (required)', target);
    await user.click('Run (25 credits)');
    const source = await tab.page.$eval('main img', (image) => image.src);
    const picture = sharp(Buffer.from(source.split(',')[1] ?? '', 'base64'));
    t.is((await picture.metadata()).width, 1440);
    // The page is yellow.
    const { data } = await picture.removeAlpha().raw().toBuffer({ resolveWithObject: true });
    t.deepEqual([...data.subarray(-3)], [255, 204, 0]);
  }),
);

test.serial('an owner finds out why a key fails', async (t) => {
  const key = await makeKey(startRecording(tab), 'website');
  t.is((await callWith(stack, key)).status, 200);
  // Somebody else with access to the account revokes the key.
  const colleague = visitor(stack, await signIn(stack.baseUrl, owner), owner);
  const [, path = ''] =
    /action="\/dashboard(\/keys\/[^"]+\/revoke)"/.exec(await (await colleague.get('/keys')).text()) ?? [];
  await colleague.post(path);
  t.is((await callWith(stack, key)).status, 401);
  await until('the refusal is listed', async () =>
    /invalid_api_key/.test(await (await colleague.get('/calls/refused')).text()),
  );
  await perform(t, 'find out why a key fails', async (user) => {
    await user.open('/dashboard');
    await user.click('Show why');
    const text = await tab.text();
    t.regex(text, /Invalid API key invalid_api_key.*unknown, revoked or expired/);
    t.true(text.includes(key.slice(0, 8)), text);
  });
});

test.serial('an owner buys credits and opens the invoice', async (t) => {
  await tab.page.setRequestInterception(true);
  const onRequest = (request: HTTPRequest) => {
    standInForStripe(request).catch((error) => t.log(String(error)));
  };
  tab.page.on('request', onRequest);
  await perform(t, 'buy credits, and get an invoice', async (user) => {
    await user.click('Credits');
    await user.click('Enter billing details');
    await user.type('Name or company', 'Jane Doe');
    await user.type('Address', '2 Example Street, Hamburg');
    await user.type('Country', 'DE');
    await user.click('Save');
    await user.click('1,000 credits for €9.00');
    await user.click('Pay €9.00');
    t.regex(await tab.text(), /Thank you.*Available 1,224.*€9\.00\s+test\s+paid/);
    const number = await tab.page.$eval('main a[href*="/invoices/"]', (link) => link.textContent);
    await user.click(number);
    t.regex(await tab.text(), /Example Tools Ltd.*Jane Doe.*Hamburg.*9\.00/);
    t.true((await tab.text()).includes(number));
  });
  tab.page.off('request', onRequest);
  await tab.page.setRequestInterception(false);
});

test.serial('an owner finds how to save a PNG', (t) =>
  perform(t, 'find how to save a PNG', async (user) => {
    await user.open('/dashboard');
    await user.click('Documentation');
    await user.search('Search the docs', 'save png');
    const first = await tab.page.$eval('ol a', (link) => link.textContent.replaceAll(/\s+/g, ' ').trim());
    await user.click(first);
    t.regex(await tab.text(), /curl --fail .*image\/png.* -o code\.png/);
  }),
);

test.serial('an agent takes a screenshot with a key of its own', (t) =>
  perform(t, 'let an agent take a screenshot', async (user) => {
    await user.open('/dashboard');
    const key = await makeKey(user, 'agent');
    await using agent = await connectMcp(stack.baseUrl, key);
    const { tools } = await agent.client.listTools();
    t.true(tools.some(({ name }) => name === 'website-screenshot'));
    const result = await agent.client.callTool({ name: 'website-screenshot', arguments: { url: target } });
    const picture = recordsAt(result.content).find(({ type }) => type === 'image');
    const { width } = await sharp(Buffer.from(String(picture?.data), 'base64')).metadata();
    t.is(width, 1440);
  }),
);

test('the documentation has the clicks of each task', (t) => {
  const text = readFileSync(new URL('../../docs/quality.md', import.meta.url), 'utf8');
  for (const [task, { clicks, fields }] of Object.entries(TASKS))
    t.regex(text, new RegExp(`^\\| ${task} +\\| +${clicks} \\| +${fields} \\|`, 'm'));
});
