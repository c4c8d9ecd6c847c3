import { createServer, type ServerResponse } from 'node:http';
import test from 'ava';
import { makeAccount, withStore } from '../helpers/account.ts';
import { linesOf } from '../helpers/batches.ts';
import { auditAccountWhenIdle } from '../helpers/ledgerCheck.ts';
import { freshCredentials, signIn, signUp } from '../helpers/session.ts';
import { listenAsTarget, startStack, TARGET_HOST } from '../helpers/stack.ts';
import { makeUser } from '../helpers/users.ts';
import { inspect, startTab, type Tab, watchPages } from './browser.ts';

/** Puts a file where the page takes dropped ones, as a browser does at the end of a drag. */
const drop = ({ page }: Tab, csv: string): Promise<void> =>
  page.$eval(
    '[data-drop]',
    (zone, content) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([content], 'addresses.csv', { type: 'text/csv' }));
      const more = { dataTransfer, bubbles: true, cancelable: true };
      for (const type of ['dragenter', 'dragover', 'drop']) zone.dispatchEvent(new DragEvent(type, more));
    },
    csv,
  );

/** Reads a download of the page with its session. */
const download = ({ page }: Tab, name: string): Promise<string> =>
  page.$eval(`main a[href$="/${name}"]`, async (link) => {
    if (!(link instanceof HTMLAnchorElement)) throw new Error('no link');
    return (await fetch(link.href)).text();
  });

test('an owner drops a file, corrects a fault, starts the batch, follows it to its end, and downloads what adds up', async (t) => {
  t.timeout(600_000);
  await using owned = new AsyncDisposableStack();
  const waiting = new Set<ServerResponse>();
  let isHolding = true;
  const server = createServer((request, response) => {
    if (request.url === '/late' && isHolding) waiting.add(response);
    else response.end('ok');
  });
  owned.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const target = await listenAsTarget(server);
  const env = { EGRESS_ALLOW: `${TARGET_HOST}/32` };
  const stack = owned.adopt(
    await startStack({ pools: ['orchestrator', 'delivery', 'cpu', 'network'], env }),
    (it) => it.stop(),
  );
  const tab = owned.adopt(await startTab(stack.baseUrl), (it) => it.close());
  const { page, open, press, follow, type, text } = tab;
  const look = () => inspect(t, tab);
  const credentials = freshCredentials();
  await signUp(stack.baseUrl, credentials);

  await open('/dashboard/sign-in');
  await type('Email', credentials.email);
  await page.type('#password', credentials.password);
  await press('Sign in');
  await open('/dashboard/batches');
  t.regex(await text(), /There are no batches/);
  await look();
  await follow('New batch');
  await look();
  await page.select('[name="tool"]', 'http-request');
  await press('Select');
  await look();

  // Row 0 and 1 succeed at once, row 2 is refused, row 3 succeeds when the server answers.
  const rows = (method: string) =>
    `id,url,method\na,http://${target}/,\nb,http://${target}/,${method}\nc,http://127.0.0.1:9/,\nd,http://${target}/late,\n`;
  await drop(tab, rows('FETCH'));
  await press('Check the file');
  t.regex(await text(), /1 fault in the file.*3\s*method\s*must be one of/);
  await look();
  await drop(tab, rows('HEAD'));
  await press('Check the file');
  t.regex(await text(), /4 rows × \d+ credits? = \d+ credits.*enough for all rows/);
  await look();
  const [, price = ''] = /4 rows × (\d+) credit/.exec(await text()) ?? [];

  await press('Start');
  const batch = new URL(page.url()).pathname;
  const paths = watchPages(tab);
  // The script shows the progress, without another page.
  await page.waitForFunction(() => document.querySelector('progress')?.value === 3);
  t.deepEqual(paths, []);
  t.regex(await text(), /running .*3 of 4 rows ended.*Charged 2 .*Failed 1 .*Open 1/);
  await look();
  isHolding = false;
  for (const response of waiting) response.end('late');
  await page.waitForFunction(() => document.querySelector('.badge')?.textContent === 'completed');
  t.deepEqual(paths, [batch]);
  const credits = 3 * Number(price);
  t.regex(await text(), new RegExp(`4 of 4 rows ended.*Charged 3 .*Failed 1 .*Credits ${credits} of`));
  await look();

  const failed = await page.waitForSelector('.segments ::-p-text(failed 1)');
  await Promise.all([page.waitForNavigation({ waitUntil: 'load' }), failed?.click()]);
  t.deepEqual(
    await page
      .$$eval('tbody tr', (all) => all.map((row) => row.textContent.replaceAll(/\s+/g, ' ').trim()))
      .then((all) => all.map((row) => row.slice(0, 14))),
    ['Row 2 c failed'],
  );
  await look();
  const lines = linesOf(await download(tab, 'results.ndjson'));
  t.deepEqual(
    lines.map(({ id, charged }) => [id, charged]),
    [
      ['a', Number(price)],
      ['b', Number(price)],
      ['c', 0],
      ['d', Number(price)],
    ],
  );
  const manifest = JSON.parse(await download(tab, 'manifest.json'));
  t.like(manifest, { rows: 4, charged: 3, refused: 1, cancelled: 0, credits });
  t.is((await download(tab, 'results.csv')).trimEnd().split('\n').length, 5);
  await withStore(stack, async (store) => {
    const account = await store.accounts.findOne({ email: credentials.email });
    t.is(account?.balance, 250 - credits);
    t.deepEqual(await auditAccountWhenIdle(store, account?._id ?? ''), []);
  });
  await follow('Row 2');
  t.regex(await text(), /What went wrong/);
  await look();
  await open('/dashboard/batches');
  await look();

  // An operator sees what the account runs.
  isHolding = true;
  const { toolsKey } = await makeAccount(stack, 100);
  await fetch(`${stack.baseUrl}/api/v1/tools/http-request`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${toolsKey}`,
      'Content-Type': 'application/json',
      Prefer: 'respond-async',
    },
    body: JSON.stringify({ url: `http://${target}/late` }),
  });
  await open('/dashboard/batches/new?tool=hash-text');
  await drop(tab, 'text\nabc\n');
  await press('Check the file');
  await page.deleteCookie(...(await page.cookies()));
  for (const pair of (await signIn(stack.baseUrl, await makeUser(stack, 'operator'))).split('; ')) {
    const [name = '', ...value] = pair.split('=');
    await page.setCookie({ name, value: value.join('='), url: stack.baseUrl });
  }
  await open('/dashboard/operator/batches');
  t.regex(await text(), /hash-text\s*not started.*http-request\s*(?:queued|running)/);
  await look();
  await page.click('.confirm summary');
  await look();
  await press('Cancel');
  t.regex(await text(), /The batch is being cancelled/);
  isHolding = false;
  for (const response of waiting) response.end('late');
  // The stream of a page that is left, and the refusal of the file.
  t.deepEqual(
    tab.complaints.filter((it) => !/events failed|422/.test(it)),
    [],
  );
});
