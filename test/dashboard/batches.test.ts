import { randomUUID } from 'node:crypto';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { strFromU8, unzipSync } from 'fflate';
import { templateOf } from '../../api/dashboard/pages/batches/template.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { withStore } from '../helpers/account.ts';
import { linesOf } from '../helpers/batches.ts';
import { ledTo, madeKey, newOwner, uploadCsv, type Visitor } from '../helpers/dashboard.ts';
import { auditAccountWhenIdle } from '../helpers/ledgerCheck.ts';
import {
  attribute,
  type Element,
  HOSTILE,
  linksOf,
  mainText,
  pageOf,
  rowsOf,
  textOf,
} from '../helpers/markup.ts';
import { useStack } from '../helpers/profiles.ts';
import { startReceiver } from '../helpers/receiver.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { newOperator } from '../helpers/users.ts';

/** A text that is too long for a QR code with this correction, so that its row is refused. */
const TOO_LONG = `${'a'.repeat(2900)},H`;
/** Two rows that succeed, and one that is refused. */
const MIXED = `id,text,errorCorrection\nfirst,abc,\nsecond,${TOO_LONG}\nthird,def,L\n`;

const registry = await loadRegistry();
let stack: SharedStack;

test.before(async () => {
  stack = await useStack();
});
test.after.always(() => stack?.stop());

const elements = async (t: ExecutionContext, owner: Visitor, path: string): Promise<Element[]> =>
  pageOf(t, await owner.get(path));
const mainOf = async (t: ExecutionContext, owner: Visitor, path: string): Promise<string> =>
  mainText(await elements(t, owner, path));

/** Uploads a file that is accepted. Returns the path of its batch below `/dashboard`. */
async function accepted(t: ExecutionContext, owner: Visitor, tool: string, csv: string): Promise<string> {
  const response = await uploadCsv(stack, owner, tool, csv);
  t.is(response.status, 303);
  t.regex(ledTo(response), /^\/batches\/batch_[\w-]+$/);
  return ledTo(response);
}

/** Waits until the batch or job is in this state, which the first badge of its page names. Returns the page. */
const reached = (t: ExecutionContext, owner: Visitor, path: string, state: string): Promise<Element[]> =>
  until(`${path} is ${state}`, async () => {
    const page = await elements(t, owner, path);
    const badge = page.find((it) => attribute(it, 'class')?.startsWith('badge'));
    return badge !== undefined && textOf(badge) === state && page;
  });

const accountIdOf = ({ email }: Visitor): Promise<string> =>
  withStore(stack, async ({ accounts }) => (await accounts.findOne({ email }))?._id ?? '');

test('a file becomes a batch with a price, which runs when it is started, and whose sums are right', async (t) => {
  const owner = await newOwner(stack);
  t.regex(await mainOf(t, owner, '/batches'), /There are no batches/);
  t.regex(
    await mainOf(t, owner, '/batches/new?tool=qr-generate'),
    /1 credit per row .*; 30 credits available, enough for 30 rows\./,
  );
  const path = await accepted(t, owner, 'qr-generate', MIXED);
  const priced = await mainOf(t, owner, path);
  t.regex(priced, /not started All rows are valid\. Nothing runs/);
  t.regex(priced, /3 rows × 1 credit = 3 credits .*30 credits available: enough for all rows\./);
  t.regex(priced, /Row 0 first waiting 0 not yet/);
  t.regex(await mainOf(t, owner, '/batches'), /qr-generate not started 3 0 0 0 dashboard/);
  t.regex(await mainOf(t, owner, '/credits'), /Available 30 /);

  const refused = await owner.post(`${path}/resume`, { maxCredits: '0' });
  t.is(refused.status, 422);
  t.regex(mainText(await pageOf(t, refused)), /Limit of credits must be at least 1/);
  t.is(ledTo(await owner.post(`${path}/resume`, { maxCredits: '3' })), path);
  const page = await reached(t, owner, path, 'completed');
  t.regex(
    mainText(page),
    /3 of 3 rows ended .*Charged 2 .*Failed 1 .*Cancelled 0 .*Open 0 .*Credits 2 limit 3/,
  );
  const refusedRows = await elements(t, owner, `${path}?outcome=refused`);
  t.deepEqual(
    rowsOf(refusedRows).map((row) => row.replace(/ \d{4}-.*/, '')),
    ['Row 1 second failed Invalid input invalid_input 0'],
  );
  t.is(rowsOf(await elements(t, owner, `${path}?outcome=charged`)).length, 2);
  t.is(rowsOf(await elements(t, owner, `${path}?outcome=cancelled`)).length, 0);

  const get = (file: string) => owner.get(`${path}/${file}`);
  const lines = linesOf(await (await get('results.ndjson')).text());
  t.deepEqual(
    lines.map(({ row, id, state, charged }) => [row, id, state, charged]),
    [
      [0, 'first', 'succeeded', 1],
      [1, 'second', 'failed', 0],
      [2, 'third', 'succeeded', 1],
    ],
  );
  const csv = await get('results.csv');
  t.regex(csv.headers.get('content-disposition') ?? '', /^attachment; filename="batch_[\w-]+\.csv"$/);
  t.is((await csv.text()).trimEnd().split('\r\n').length, 4);
  const files = unzipSync(new Uint8Array(await (await get('files.zip')).arrayBuffer()));
  t.deepEqual(Object.keys(files), ['00000-qr-generate.png', '00002-qr-generate.png']);
  t.true(Object.values(files).every((file) => strFromU8(file.subarray(1, 4)) === 'PNG'));
  t.like(await (await get('manifest.json')).json(), {
    rows: 3,
    charged: 2,
    refused: 1,
    cancelled: 0,
    credits: 2,
  });

  const [okRow = '', badRow = ''] = linksOf(page)
    .filter((href) => href.startsWith('/dashboard/jobs/'))
    .map((href) => href.replace('/dashboard', ''));
  const ok = await elements(t, owner, okRow);
  t.regex(mainText(ok), /Row 0 of a batch succeeded .*Row id first .*Charged 1 credit .*Result/);
  t.true(ok.some((it) => attribute(it, 'src')?.startsWith('data:image/png;base64,')));
  t.true(linksOf(ok).includes(`/dashboard${okRow.replace('/jobs/', '/calls/')}`));
  t.regex(await mainOf(t, owner, badRow), /failed invalid_input There is no result.*What went wrong/);
  t.regex(await mainOf(t, owner, '/jobs'), /There are no jobs/);

  await withStore(stack, async (store) => {
    const id = await accountIdOf(owner);
    t.deepEqual(await auditAccountWhenIdle(store, id), []);
    t.is((await store.accounts.findOne({ _id: id }))?.balance, 28);
  });
});

test('the faults of a file are shown by line and column, and nothing is stored', async (t) => {
  const owner = await newOwner(stack);
  const faultsOf = async (csv: string | Uint8Array<ArrayBuffer>, tool = 'hash-text') => {
    const response = await uploadCsv(stack, owner, tool, csv);
    t.true(response.status >= 400, `${response.status}`);
    return pageOf(t, response);
  };
  const bad = await faultsOf('text,algorithm\nabc,sha256\nabc,none\n,md5\n');
  t.regex(mainText(bad), /2 faults in the file Nothing was stored or charged\./);
  const [choice, missing] = rowsOf(bad);
  t.regex(choice ?? '', /^3 algorithm must be one of /);
  t.regex(missing ?? '', /^4 text is required/);
  t.true(
    bad.some((it) => attribute(it, 'name') === 'file'),
    'the page has the form',
  );

  t.regex(
    mainText(await faultsOf('text;algorithm\nabc;md5\n')),
    /separated by commas.* 1 text;algorithm the column is not a field of the tool, or id/,
  );
  const many = Array.from({ length: 130 }, () => 'abc,none').join('\n');
  const counted = await faultsOf(`text,algorithm\n${many}\n`);
  t.is(rowsOf(counted).filter((row) => /^\d+ algorithm/.test(row)).length, 100);
  t.regex(mainText(counted), /130 faults in the file.*30 further rows have faults too/);
  t.regex(mainText(await faultsOf('text\n')), /must have at least 1 row/);
  t.regex(mainText(await faultsOf('')), /must have at least 1 row/);
  t.regex(mainText(await faultsOf('text\n"abc')), /is not valid CSV/);
  t.regex(mainText(await faultsOf(new Uint8Array([0x74, 0xff, 0xfe]))), /no text in UTF-8/);
  for (const hostile of HOSTILE) {
    const page = await faultsOf(`"${hostile.replaceAll('"', '""')}"\nabc\n`);
    t.true(mainText(page).includes('is not a field of the tool'));
  }
  for (const tool of ['bcrypt-verify', 'none'])
    t.is((await uploadCsv(stack, owner, tool, 'text\nabc\n')).status, 404);
  await until('nothing is stored', async () => {
    const accountId = await accountIdOf(owner);
    return withStore(
      stack,
      async ({ batches, jobs }) =>
        (await batches.countDocuments({ accountId })) + (await jobs.countDocuments({ accountId })) === 0,
    );
  });
});

test('a form that is sent twice creates one batch, and its reference is only for one file', async (t) => {
  const owner = await newOwner(stack);
  const reference = randomUUID();
  const send = (csv: string) => uploadCsv(stack, owner, 'hash-text', csv, { reference });
  const [first = '', second = ''] = (await Promise.all([send('text\nabc\n'), send('text\nabc\n')])).map(
    ledTo,
  );
  t.regex(first, /^\/batches\/batch_/);
  t.is(second, first);
  const other = await send('text\ndef\n');
  t.is(other.status, 422);
  const page = await pageOf(t, other);
  t.regex(mainText(page), /This form was sent before with another file/);
  t.is(rowsOf(await elements(t, owner, '/batches')).length, 1);
});

test('the page says what the balance covers, and a batch is discarded without a charge', async (t) => {
  const owner = await newOwner(stack);
  const rows = Array.from({ length: 40 }, (_, row) => `text ${row}`).join('\n');
  const path = await accepted(t, owner, 'hash-text', `text\n${rows}\n`);
  const page = await elements(t, owner, path);
  t.regex(mainText(page), /40 credits .*30 credits available: enough for the first 30 rows/);
  t.is(rowsOf(page).length, 25);
  const next = linksOf(page).find((href) => href.includes('cursor=')) ?? '';
  const last = await elements(t, owner, next.replace('/dashboard', ''));
  t.is(rowsOf(last).length, 15);
  t.regex(rowsOf(last).at(-1) ?? '', /^Row 39 waiting/);
  t.is((await owner.get(`${path}?cursor=zzz`)).status, 422);
  t.is((await owner.get(`${path}/manifest.json`)).status, 409);
  t.is(ledTo(await owner.post(`${path}/cancel`)), path);
  const ended = await reached(t, owner, path, 'cancelled');
  t.regex(mainText(ended), /40 of 40 rows ended .*Cancelled 40 .*Credits 0 of 40 at most/);
  t.regex(await mainOf(t, owner, '/credits'), /Available 30 /);
});

test('a batch is paused, resumed and cancelled', async (t) => {
  const owner = await newOwner(stack);
  // This stack has no worker for the tools of the browser, so the rows wait.
  const path = await accepted(t, owner, 'html-to-image', 'html\n<p>a</p>\n<p>b</p>\n');
  await owner.post(`${path}/resume`, { maxCredits: '' });
  t.regex(await mainOf(t, owner, path), /running Rows run when workers are free\..*0 of 2 rows ended/);
  await owner.post(`${path}/pause`);
  t.regex(await mainOf(t, owner, path), /paused No further row starts until you resume/);
  await owner.post(`${path}/resume`, { maxCredits: '1000' });
  const page = await elements(t, owner, path);
  t.regex(mainText(page), /running .*Credits 0 limit 1,000/);
  t.true(page.some((it) => attribute(it, 'data-events') === `/dashboard${path}/events`));
  await owner.post(`${path}/cancel`);
  await reached(t, owner, path, 'cancelled');
  t.regex(await mainOf(t, owner, '/credits'), /Available 30 /);
});

/** Reads the events of a batch, whose stream ends with the batch. */
const eventsOf = (owner: Visitor, path: string, headers: Record<string, string> = {}) =>
  new Promise<{ response: IncomingMessage; body: string }>((resolve, reject) => {
    const url = `${stack.baseUrl}/dashboard${path}/events`;
    request(url, { headers: { Cookie: owner.cookie, ...headers } }, (response) =>
      text(response).then((body) => resolve({ response, body }), reject),
    )
      .on('error', reject)
      .end();
  });

test('the events of a batch end with it', async (t) => {
  const owner = await newOwner(stack);
  const path = await accepted(t, owner, 'hash-text', 'text\nabc\ndef\n');
  await owner.post(`${path}/resume`);
  const { response, body } = await eventsOf(owner, path);
  t.regex(response.headers['content-type'] ?? '', /^text\/event-stream\b/);
  const [id = ''] = /(?<=event: end\nid: )\d+/.exec(body) ?? [];
  const last = JSON.parse(/(?<=data: ).*(?=\n\n$)/.exec(body)?.[0] ?? '{}');
  t.like(last, { state: 'completed', counts: { charged: 2 } });
  t.is((await eventsOf(owner, path, { 'Last-Event-ID': id })).response.statusCode, 204);
});

test("batches and jobs of other accounts do not exist, and forms require the session's token", async (t) => {
  const [owner, other] = [await newOwner(stack), await newOwner(stack)];
  const path = await accepted(t, owner, 'hash-text', 'text\nabc\n');
  const row = linksOf(await elements(t, owner, path)).find((href) => href.includes('/jobs/')) ?? '';
  const job = row.replace('/dashboard', '');
  const files = ['events', 'results.csv', 'results.ndjson', 'files.zip', 'manifest.json'];
  for (const page of [
    path,
    job,
    ...files.map((file) => `${path}/${file}`),
    '/batches/batch_none',
    '/jobs/none',
  ])
    t.is((await other.get(page)).status, 404, page);
  const theirs = await other.formToken();
  for (const action of [`${path}/resume`, `${path}/pause`, `${path}/cancel`, `${job}/cancel`]) {
    t.is((await other.post(action)).status, 404, action);
    t.is((await owner.postRaw(action, {})).status, 403, action);
    t.is((await owner.postRaw(action, { formToken: theirs })).status, 403, action);
    t.is((await owner.get(action)).status, 303, action);
  }
  for (const formToken of ['', 'made up', theirs])
    t.is((await uploadCsv(stack, owner, 'hash-text', 'text\nabc\n', { formToken })).status, 403);
  t.is((await owner.postRaw('/batches/upload', { formToken: await owner.formToken() })).status, 415);
  t.is(ledTo(await owner.get('/batches/upload')), '/batches/new');
  t.regex(await mainOf(t, owner, path), /not started/);
});

test('jobs are listed with their results, and cancelled while they wait', async (t) => {
  const owner = await newOwner(stack);
  const key = await madeKey(owner);
  const create = async (tool: string, input: object) => {
    const response = await fetch(`${stack.baseUrl}/api/v1/jobs`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ tool, input }),
    });
    t.is(response.status, 202);
    return `/jobs/${(await response.json()).id}`;
  };
  const done = await create('hash-text', { text: 'abc' });
  const ended = await reached(t, owner, done, 'succeeded');
  t.regex(
    mainText(ended),
    /There is a result.*ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad/,
  );
  const failed = await create('qr-generate', { text: 'a'.repeat(2900), errorCorrection: 'H' });
  t.regex(mainText(await reached(t, owner, failed, 'failed')), /nothing was charged.*What went wrong/);
  const waiting = await create('html-to-image', { html: 'a' });
  t.regex(await mainOf(t, owner, waiting), /(?:queued|running) /);
  t.is(ledTo(await owner.post(`${waiting}/cancel`)), waiting);
  await reached(t, owner, waiting, 'cancelled');
  t.is(rowsOf(await elements(t, owner, '/jobs')).length, 3);
  t.deepEqual(
    rowsOf(await elements(t, owner, '/jobs?state=failed')).map((row) => /qr-generate failed \w+ 0/.test(row)),
    [true],
  );
  t.is((await owner.get('/jobs?cursor=zzz')).status, 422);
});

test('callbacks are shown with their attempts and sent again', async (t) => {
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  const owner = await newOwner(stack);
  const key = await madeKey(owner);
  const create = async (kind: string, body: object) => {
    const response = await fetch(`${stack.baseUrl}/api/v1/${kind}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ tool: 'hash-text', callbackUrl: receiver.url, ...body }),
    });
    t.is(response.status, 202);
    return `/${kind}/${(await response.json()).id}`;
  };
  const shown = (path: string, what: RegExp) =>
    until(`${path} shows ${what}`, async () => {
      const page = await elements(t, owner, path);
      return what.test(mainText(page)) && page;
    });
  const job = await create('jobs', { input: { text: 'abc' } });
  await shown(job, /Callback .*: delivered, 1 attempt, the latest: HTTP status 200 Send the callback again/);
  t.is(ledTo(await owner.post(`${job}/callbacks/resend`)), job);
  await shown(job, /delivered, 2 attempts/);

  const batch = await create('batches', { inputs: [{ text: 'abc' }] });
  const page = await shown(batch, /Callbacks .*batch\.completed .*delivered 1 HTTP status 200/);
  const action =
    page.map((it) => attribute(it, 'action') ?? '').find((it) => it.includes('/callbacks/')) ?? '';
  const path = action.replace('/dashboard', '');
  t.is(ledTo(await owner.post(path)), batch);
  await shown(batch, /delivered 2 HTTP status 200/);
  t.is(receiver.received.length, 4);
  const other = await newOwner(stack);
  for (const post of [path, `${job}/callbacks/resend`]) t.is((await other.post(post)).status, 404, post);
});

test('operators see the batches and jobs of all accounts and cancel them; owners do not', async (t) => {
  const operator = await newOperator(stack);
  const owner = await newOwner(stack);
  const path = await accepted(t, owner, 'hash-text', 'text\nabc\n');
  const id = path.replace('/batches/', '');
  const account = await accountIdOf(owner);
  t.true(linksOf(await elements(t, operator, '/operator')).includes('/dashboard/operator/batches'));
  // Of the batches of all accounts it is on the first page, unless other tests have many.
  let next: string | undefined = '/dashboard/operator/batches';
  let isFound = false;
  while (next !== undefined && !isFound) {
    const page: Element[] = await elements(t, operator, next.replace('/dashboard', ''));
    isFound = rowsOf(page).some((row) => row.includes(owner.email));
    next = linksOf(page).find((href) => href.includes('cursor='));
  }
  t.true(isFound);
  const ofAccount = `/operator/batches?account=${account}`;
  t.true(
    linksOf(await elements(t, operator, `/operator/accounts/${account}`)).includes(`/dashboard${ofAccount}`),
  );
  // Other tests have more jobs than the page of all accounts shows.
  const rowOf = async () =>
    rowsOf(await elements(t, operator, ofAccount)).find((row) => row.includes(owner.email));
  t.regex((await rowOf()) ?? '', /hash-text not started 1 0 0 Cancel/);
  t.is((await owner.get('/operator/batches')).status, 404);
  t.is((await owner.post(`/operator/batches/${id}/cancel`)).status, 404);
  t.is((await operator.post('/operator/batches/batch_none/cancel')).status, 404);
  const cancelled = await operator.post(`/operator/batches/${id}/cancel`);
  t.regex(await mainOf(t, operator, ledTo(cancelled)), /The batch is being cancelled/);
  await reached(t, owner, path, 'cancelled');
  t.is(await rowOf(), undefined);

  const key = await madeKey(owner);
  const response = await fetch(`${stack.baseUrl}/api/v1/tools/html-to-image`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Prefer: 'respond-async' },
    body: JSON.stringify({ html: 'a' }),
  });
  const job = await response.json();
  t.regex((await rowOf()) ?? '', /html-to-image (?:queued|running) \d+ Cancel/);
  t.is((await operator.post(`/operator/batches/jobs/${job.id}/cancel`)).status, 303);
  await reached(t, owner, `/jobs/${job.id}`, 'cancelled');
  t.is((await operator.get('/operator/batches?cursor=zzz')).status, 422);
});

test('a suspended account is told so, and cannot create a batch', async (t) => {
  const operator = await newOperator(stack);
  const owner = await newOwner(stack);
  const account = `/operator/accounts/${await accountIdOf(owner)}`;
  await operator.post(`${account}/suspension`, { suspensionReason: 'No reason.' });
  for (const path of ['/batches', '/batches/new?tool=hash-text', '/jobs'])
    t.regex(await mainOf(t, owner, path), /suspended by an operator of the service: No reason\./);
  const refused = await uploadCsv(stack, owner, 'hash-text', 'text\nabc\n');
  t.is(refused.status, 403);
  t.regex(mainText(await pageOf(t, refused)), /suspended by an operator/);
});

test('there is a template for each tool that can run in batches', async (t) => {
  const owner = await newOwner(stack);
  const response = await owner.get('/batches/templates/qr-generate.csv');
  t.regex(response.headers.get('content-type') ?? '', /^text\/csv/);
  t.is(response.headers.get('content-disposition'), 'attachment; filename="qr-generate.csv"');
  const qr = registry.get('qr-generate') ?? t.fail('no tool');
  t.is(await response.text(), templateOf(qr));
  t.is((await owner.get('/batches/templates/bcrypt-verify.csv')).status, 404);
});
