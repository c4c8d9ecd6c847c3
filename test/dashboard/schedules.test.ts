import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import sharp from 'sharp';
import { openStore } from '../../store/mongo/mongo.ts';
import { ledTo, madeKey, newOwner, type Visitor } from '../helpers/dashboard.ts';
import { attribute, type Element, HOSTILE, linksOf, mainText, pageOf, rowsOf } from '../helpers/markup.ts';
import { useStack } from '../helpers/profiles.ts';
import { schedulesOf } from '../helpers/schedules.ts';
import { listenAsTarget, type SharedStack } from '../helpers/stack.ts';

const [MARKUP = ''] = HOSTILE;

let stack: SharedStack;

test.before(async () => {
  stack = await useStack();
});
test.after.always(() => stack?.stop());

const elements = async (t: ExecutionContext, owner: Visitor, path: string): Promise<Element[]> =>
  pageOf(t, await owner.get(path));
const mainOf = async (t: ExecutionContext, owner: Visitor, path: string): Promise<string> =>
  mainText(await elements(t, owner, path));

test('a schedule is shown with its runs and with what has changed as a picture', async (t) => {
  let background = '#ffffff';
  const server = createServer(async (_request, response) =>
    response.end(
      await sharp({ create: { width: 80, height: 60, channels: 3, background } })
        .png()
        .toBuffer(),
    ),
  );
  const target = await listenAsTarget(server);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const owner = await newOwner(stack);
  t.regex(await mainOf(t, owner, '/schedules'), /There are no schedules/);
  const schedules = schedulesOf({ toolsKey: await madeKey(owner) }, stack.baseUrl);
  const { id } = await schedules.create({
    name: MARKUP,
    // The 29th of February, so that its clock does not fire while the test runs.
    cron: '30 4 29 2 *',
    timeZone: 'Europe/Berlin',
    job: { tool: 'watermark-image', input: { fileUrl: `http://${target}/a.png`, text: 'a' } },
    onChange: 'changed',
  });
  const path = `/schedules/${id}`;
  const list = await elements(t, owner, '/schedules');
  t.true(mainText(list).includes(MARKUP));
  t.regex(rowsOf(list)[0] ?? '', /active watermark-image 30 4 29 2 \* Europe\/Berlin 2 /);
  t.true(linksOf(list).includes(`/dashboard${path}`));
  t.regex(await mainOf(t, owner, path), /It has not run yet\./);

  // A form that is sent twice runs it once.
  const form = { reference: randomUUID() };
  for (const response of [
    await owner.post(`${path}/trigger`, form),
    await owner.post(`${path}/trigger`, form),
  ])
    t.is(ledTo(response), path);
  await schedules.ended(id, 1);
  t.is((await schedules.runs(id)).length, 1);
  background = '#003080';
  await owner.post(`${path}/trigger`, { reference: randomUUID() });
  await schedules.ended(id, 2);
  const page = await elements(t, owner, path);
  t.regex(
    mainText(page),
    /succeeded trigger 2 1 new, 1 gone .* 4,\d\d\d pixels of 4,800 changed \([\d.]+ %\)\. Job/,
  );
  t.regex(rowsOf(page).at(-1) ?? '', /succeeded trigger 2 no change Job/);
  const picture = page.find((it) => attribute(it, 'class') === 'difference');
  const source = (picture && attribute(picture, 'src')) ?? '';
  t.regex(source, /^\/api\/v1\/links\//);
  const shown = await fetch(stack.baseUrl + source);
  t.like(await sharp(Buffer.from(await shown.arrayBuffer())).metadata(), { width: 80, height: 60 });

  const store = await openStore(stack.mongodbUri);
  t.teardown(() => store.close());
  const keyId = async () => (await store.schedules.findOne({ _id: id }))?.keyId;
  const ownKey = await keyId();
  t.is(ledTo(await owner.post(`${path}/pause`)), path);
  t.regex(await mainOf(t, owner, path), /paused Its times pass without a run/);
  t.is(ledTo(await owner.post(`${path}/resume`)), path);
  t.like(await schedules.get(id), { paused: false, pauseReason: null });
  // The limits of the key still apply to its runs.
  t.is(await keyId(), ownKey);
  t.is(typeof ownKey, 'string');
  await store.schedules.updateOne({ _id: id }, { $set: { paused: true, pauseReason: 'key_revoked' } });
  t.is(ledTo(await owner.post(`${path}/resume`)), path);
  t.is(await keyId(), null);
  const stranger = await newOwner(stack);
  t.is((await stranger.get(path)).status, 404);
  t.is((await stranger.post(`${path}/delete`)).status, 404);
  t.is(ledTo(await owner.post(`${path}/delete`)), '/schedules');
  t.is((await owner.get(path)).status, 404);
});
