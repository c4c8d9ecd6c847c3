import { createServer } from 'node:http';
import test from 'ava';
import { listen } from '../helpers/egress.ts';
import { makeDocx } from '../helpers/office.ts';
import { freshCredentials, signUp } from '../helpers/session.ts';
import { startStack } from '../helpers/stack.ts';
import { inspect, startTab } from './browser.ts';

test('the result of word-to-pdf shows the first page of the PDF', async (t) => {
  t.timeout(300_000);
  await using owned = new AsyncDisposableStack();
  const document = makeDocx({
    body: '<w:p><w:r><w:t>Dear reader,</w:t><w:br w:type="page"/><w:t>Yours</w:t></w:r></w:p>',
  });
  const files = createServer((_, response) => response.end(document));
  owned.defer(() => void files.close());
  const host = `127.0.0.1:${await listen(files)}`;
  const stack = owned.adopt(
    await startStack({ pools: ['orchestrator', 'heavy'], env: { EGRESS_ALLOW: host } }),
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
  await open('/dashboard/tools/word-to-pdf');
  await type('fileUrl (required)', `http://${host}/letter.docx`);
  await press('Run (15 credits)');
  await page.waitForSelector('.preview[data-shown]');
  t.is(await page.$eval('.preview figcaption', (it) => it.textContent), 'Page 1 of 2');
  const drawn = await page.$eval('.preview canvas', (canvas) => {
    if (!(canvas instanceof HTMLCanvasElement)) return null;
    const { width, height } = canvas;
    const { data } = canvas.getContext('2d')?.getImageData(0, 0, width, height) ?? { data: [] };
    // The red of each pixel is the first of its four values.
    let dark = 0;
    for (let red = 0; red < data.length; red += 4) if ((data[red] ?? 255) < 100) dark += 1;
    return { ratio: height / width, share: dark / (width * height) };
  });
  // A page in portrait with a few words.
  t.true(drawn !== null && drawn.ratio > 1.2 && drawn.ratio < 1.6);
  t.true(drawn !== null && drawn.share > 0.0001 && drawn.share < 0.05, `${drawn?.share}`);
  await inspect(t, tab);
  t.deepEqual(tab.complaints, []);
});
