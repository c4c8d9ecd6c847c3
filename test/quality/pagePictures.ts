import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTab, type Tab } from '../dashboard/browser.ts';
import { ARTEFACTS } from '../helpers/artefacts.ts';
import { oauthClient } from '../helpers/oauth.ts';
import { type Receiver, startReceiver } from '../helpers/receiver.ts';
import { signIn } from '../helpers/session.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { makeUser } from '../helpers/users.ts';
import { createExampleAccount } from './exampleAccount.ts';
import { LOOKS, type Look, makeSheet, pictureFile } from './pictureSheet.ts';

/** Pixels of a page that are in its picture; a WebP picture can have at most 16,383. */
const HIGHEST = 12_000;

interface Shot {
  name: string;
  path: string;
  /** Session cookie of the user; if missing, the page is requested without a session. */
  cookie?: string;
  /** Name of the button that is pressed before the pictures. */
  press?: string;
}

const SITE: Shot[] = [
  { name: 'landing', path: '/' },
  { name: 'pricing', path: '/pricing?website-screenshot=1000&hash-text=5000' },
  { name: 'contact', path: '/contact' },
  { name: 'terms', path: '/terms' },
  { name: 'privacy', path: '/privacy' },
  { name: 'documentation', path: '/docs' },
  { name: 'quickstart', path: '/docs/quickstart' },
  { name: 'webhooks guide', path: '/docs/webhooks' },
  { name: 'billing', path: '/docs/billing' },
  { name: 'docs website-screenshot', path: '/docs/tools/website-screenshot' },
  { name: 'docs hash-text', path: '/docs/tools/hash-text' },
  { name: 'docs smtp-test', path: '/docs/tools/smtp-test' },
  { name: 'errors', path: '/docs/errors' },
  { name: 'reference', path: '/docs/reference' },
  { name: 'reference list calls', path: '/docs/reference/list-calls' },
  { name: 'reference events', path: '/docs/reference/events' },
  { name: 'for operators', path: '/docs/self-hosting' },
  { name: 'search', path: '/docs/search?q=webhook' },
  { name: 'not found', path: '/docs/none' },
  { name: 'status', path: '/status' },
  { name: 'sign in', path: '/dashboard/sign-in' },
  { name: 'sign up', path: '/dashboard/sign-up' },
];

/** The pages of an account that has been used for a month. */
async function ownerShots(stack: Stack, receiver: Receiver): Promise<Shot[]> {
  const { owner, paths } = await createExampleAccount(stack, receiver);
  const { cookie } = owner;
  const app = oauthClient(stack.baseUrl, 'Assistant');
  await app.connect().catch(() => undefined);
  const { pathname, search } = app.provider.authorizationUrl ?? new URL(stack.baseUrl);
  return [
    { name: 'overview', path: '' },
    { name: 'tools', path: '/tools' },
    { name: 'tool form', path: '/tools/website-screenshot' },
    { name: 'tool result', path: '/tools/hash-text?example=1', press: 'Run (1 credit)' },
    { name: 'calls', path: '/calls' },
    { name: 'refused requests', path: '/calls/refused' },
    { name: 'call', path: paths.call },
    { name: 'batches', path: '/batches' },
    { name: 'new batch', path: '/batches/new?tool=qr-generate' },
    { name: 'batch price', path: paths.newBatch },
    { name: 'batch', path: paths.batch },
    { name: 'jobs', path: '/jobs' },
    { name: 'schedules', path: '/schedules' },
    { name: 'row', path: paths.row },
    { name: 'keys', path: '/keys' },
    { name: 'key', path: paths.key },
    { name: 'clients', path: '/clients' },
    { name: 'webhooks', path: '/webhooks' },
    { name: 'endpoint', path: paths.webhook },
    { name: 'delivery', path: paths.delivery },
    { name: 'events', path: '/events' },
    { name: 'credits', path: '/credits' },
    { name: 'receipt', path: paths.receipt },
    { name: 'ledger', path: '/ledger' },
    { name: 'account', path: '/settings' },
    { name: 'security log', path: '/settings/security-log' },
    { name: 'two-factor', path: '/settings/two-factor' },
    { name: 'profile', path: '/settings/profile' },
    { name: 'close account', path: '/settings/close' },
  ]
    .map((shot): Shot => ({ ...shot, path: `/dashboard${shot.path}`, cookie }))
    .concat({ name: 'consent', path: `${pathname}${search}`, cookie });
}

async function operatorShots(stack: Stack): Promise<Shot[]> {
  const cookie = await signIn(stack.baseUrl, await makeUser(stack, 'operator'));
  return [
    { name: 'new account', path: '/dashboard', cookie },
    { name: 'operator', path: '/dashboard/operator', cookie },
    { name: 'batches of all', path: '/dashboard/operator/batches', cookie },
    { name: 'pools', path: '/dashboard/operator/pools', cookie },
    { name: 'incidents', path: '/dashboard/operator/incidents', cookie },
  ];
}

/** Replaces the session of the browser. */
async function useSession({ page }: Tab, url: string, cookie: string): Promise<void> {
  await page.deleteCookie(...(await page.cookies(url)));
  for (const pair of cookie.split('; ').filter(Boolean)) {
    const [name = '', ...value] = pair.split('=');
    await page.setCookie({ name, value: value.join('='), url });
  }
}

async function arrange({ page }: Tab, { width, height, scheme }: Look): Promise<void> {
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  await page.setViewport({ width, height });
}

/** Loads the images of the page, also those far below. */
const loadImages = ({ page }: Tab): Promise<unknown> =>
  page.evaluate(() => {
    const images = [...document.images];
    for (const image of images) image.loading = 'eager';
    return Promise.allSettled(images.map((image) => image.decode())).then(() => null);
  });

async function takePictures(
  tab: Tab,
  { baseUrl }: Stack,
  shot: Shot,
  folder: string,
  looks: readonly Look[],
): Promise<void> {
  const { name, path, cookie = '', press } = shot;
  await useSession(tab, baseUrl, cookie);
  for (const [index, look] of looks.entries()) {
    await arrange(tab, look);
    if (press === undefined || index === 0) await tab.open(path);
    if (press !== undefined && index === 0) await tab.press(press);
    await loadImages(tab);
    const height = Math.min(HIGHEST, await tab.page.evaluate(() => document.documentElement.scrollHeight));
    const clip = { x: 0, y: 0, width: look.width, height };
    const picture = await tab.page.screenshot({ clip, type: 'webp', quality: 75 });
    writeFileSync(join(folder, pictureFile(name, look)), picture);
  }
}

/** What is taken, and the folder in which it is stored. */
interface Extent {
  to: string;
  looks: readonly Look[];
  /** Whether the pictures of a page are taken, by its name. */
  isTaken: (name: string) => boolean;
}

/**
 * Takes pictures of the pages at the widths of a telephone, a tablet and a desktop, in both colour schemes. They are in
 * the folder pages/<run>. The sheets in the folder sheets show each page beside its pictures of earlier runs.
 *
 * @returns the names of the pages
 */
export async function takePagePictures(
  run: string,
  earlier: readonly string[],
  { to, looks, isTaken }: Extent = { to: ARTEFACTS, looks: LOOKS, isTaken: () => true },
): Promise<string[]> {
  const folder = join(to, 'pages', run);
  const folders = [...earlier.map((name) => join(to, 'pages', name)), folder];
  const sheets = join(to, 'sheets');
  for (const path of [folder, sheets]) mkdirSync(path, { recursive: true });

  await using owned = new AsyncDisposableStack();
  const stack = owned.adopt(await startStack({ pools: ['orchestrator', 'delivery', 'cpu'] }), (it) =>
    it.stop(),
  );
  const receiver = owned.adopt(await startReceiver(), (it) => it.close());
  const tab = owned.adopt(await startTab(stack.baseUrl), (it) => it.close());
  const all = [...SITE, ...(await ownerShots(stack, receiver)), ...(await operatorShots(stack))];
  const shots = all.filter(({ name }) => isTaken(name));
  for (const shot of shots) await takePictures(tab, stack, shot, folder, looks);
  const names = shots.map(({ name }) => name);
  for (const look of looks)
    writeFileSync(join(sheets, `${look.width}-${look.scheme}.webp`), await makeSheet(folders, names, look));
  return names;
}

if (import.meta.main) {
  const [run = 'after', ...earlier] = process.argv.slice(2);
  await takePagePictures(run, earlier);
}
