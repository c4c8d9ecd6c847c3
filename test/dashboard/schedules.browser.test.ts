import { createServer } from 'node:http';
import test from 'ava';
import sharp from 'sharp';
import { madeKey, newOwner } from '../helpers/dashboard.ts';
import { useStack } from '../helpers/profiles.ts';
import { schedulesOf } from '../helpers/schedules.ts';
import { listenAsTarget } from '../helpers/stack.ts';
import { inspect, startTab } from './browser.ts';

test('an owner runs a schedule, sees the difference as a picture, pauses it and deletes it', async (t) => {
  t.timeout(300_000);
  await using owned = new AsyncDisposableStack();
  let background = '#ffffff';
  const server = createServer(async (_request, response) =>
    response.end(
      await sharp({ create: { width: 80, height: 60, channels: 3, background } })
        .png()
        .toBuffer(),
    ),
  );
  owned.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const target = await listenAsTarget(server);
  const stack = owned.adopt(await useStack(), (it) => it.stop());
  const owner = await newOwner(stack);
  const schedules = schedulesOf({ toolsKey: await madeKey(owner) }, stack.baseUrl);
  const { id } = await schedules.create({
    name: 'logo of the shop',
    // The 29th of February, so that its clock does not fire while the test runs.
    cron: '30 4 29 2 *',
    job: { tool: 'watermark-image', input: { fileUrl: `http://${target}/a.png`, text: 'a' } },
    onChange: 'changed',
  });
  const tab = owned.adopt(await startTab(stack.baseUrl), (it) => it.close());
  const { page, open, press, follow, text } = tab;
  const look = () => inspect(t, tab);
  for (const pair of owner.cookie.split('; ')) {
    const [name = '', ...value] = pair.split('=');
    await page.setCookie({ name, value: value.join('='), url: stack.baseUrl });
  }

  await open('/dashboard/schedules');
  await look();
  await follow('logo of the shop');
  t.regex(await text(), /It has not run yet\./);
  await press('Run now');
  await schedules.ended(id, 1);
  background = '#003080';
  await press('Run now');
  await schedules.ended(id, 2);
  await page.reload({ waitUntil: 'load' });
  t.regex(await text(), /4,\d\d\d pixels of 4,800 changed/);
  await page.$eval('img.difference', (picture) => picture.scrollIntoView());
  const size = await page.waitForFunction(() => {
    const picture = document.querySelector('img.difference');
    return (
      picture instanceof HTMLImageElement && picture.complete && [picture.naturalWidth, picture.naturalHeight]
    );
  });
  // Of a picture that the page may not show, or that is none, it would be 0.
  t.deepEqual(await size.jsonValue(), [80, 60]);
  await look();

  await press('Pause');
  t.regex(await text(), /paused Its times pass without a run/);
  t.like(await schedules.get(id), { paused: true });
  await press('Continue');
  t.like(await schedules.get(id), { paused: false });
  await page.click('.confirm summary');
  await look();
  await press('Delete');
  t.is(new URL(page.url()).pathname, '/dashboard/schedules');
  t.regex(await text(), /There are no schedules/);
  t.deepEqual(tab.complaints, []);
});
