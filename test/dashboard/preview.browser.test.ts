import { createServer } from 'node:http';
import test from 'ava';
import { listen } from '../helpers/egress.ts';
import { freshCredentials, signUp } from '../helpers/session.ts';
import { startStack } from '../helpers/stack.ts';
import { inspect, startTab } from './browser.ts';

test('a result with a PDF shows its first page', async (t) => {
  t.timeout(600_000);
  await using owned = new AsyncDisposableStack();
  const files = createServer((_, response) =>
    response.setHeader('Content-Type', 'text/html').end('<h1>Bread</h1><p>From our bakery.</p>'),
  );
  owned.defer(() => void files.close());
  const host = `127.0.0.1:${await listen(files)}`;
  const stack = owned.adopt(
    await startStack({ pools: ['orchestrator', 'browser'], env: { EGRESS_ALLOW: host } }),
    (it) => it.stop(),
  );
  const tab = owned.adopt(await startTab(stack.baseUrl), (it) => it.close());
  const { page, open, type, press } = tab;
  const owner = freshCredentials();
  await signUp(stack.baseUrl, owner);
  await open('/dashboard/sign-in');
  await type('Email', owner.email);
  await page.type('#password', owner.password);
  await press('Sign in');
  await open('/dashboard/tools/website-screenshot');
  await type('url (required)', `http://${host}/`);
  await page.select('[name="format"]', 'pdf');
  await press('Run (25 credits)');
  await page.waitForSelector('.preview[data-shown]');
  t.is(await page.$eval('.preview figcaption', (it) => it.textContent), 'Page 1 of 1');
  const drawn = await page.$eval('.preview canvas', (canvas) => {
    if (!(canvas instanceof HTMLCanvasElement)) return null;
    const { width, height } = canvas;
    const { data } = canvas.getContext('2d')?.getImageData(0, 0, width, height) ?? { data: [] };
    // The red of each pixel is the first of its four values.
    let dark = 0;
    for (let red = 0; red < data.length; red += 4) if ((data[red] ?? 255) < 100) dark += 1;
    return dark / (width * height);
  });
  // A page with a few words.
  t.true(drawn !== null && drawn > 0.0001 && drawn < 0.05, `${drawn}`);
  await inspect(t, tab);
  t.deepEqual(tab.complaints, []);
});
