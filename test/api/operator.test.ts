import test from 'ava';
import { EnvError, readEnv } from '../../schemas/env.ts';
import { recordAt } from '../helpers/json.ts';
import { LIMITED, OPERATOR, useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';

const PAGES = ['/contact', '/terms', '/privacy'];

/** A stack without an operator, and one that names it. */
let unnamed: SharedStack;
let named: SharedStack;

test.before(async () => {
  [unnamed, named] = await Promise.all([useStack(), useStack('limited')]);
});
test.after.always(async () => {
  await unnamed?.stop();
  await named?.stop();
});

/** The text of a page between its tags, with single spaces. */
async function textOf({ baseUrl }: SharedStack, path: string): Promise<string> {
  const response = await fetch(`${baseUrl}${path}`);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  const html = await response.text();
  const main = html.slice(html.indexOf('<main'), html.indexOf('</main>'));
  return main
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ');
}

test('without an operator the pages say so, and no text asks users to contact support', async (t) => {
  for (const path of PAGES) t.regex(await textOf(unnamed, path), /This installation has no operator named/);
  const sitemap = await (await fetch(`${unnamed.baseUrl}/sitemap.xml`)).text();
  const urls = [...sitemap.matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, url = '']) => url);
  t.true(PAGES.every((path) => urls.includes(`${unnamed.baseUrl}${path}`)));
  for (const url of [...urls, `${unnamed.baseUrl}/openapi.json`]) {
    const text = await (await fetch(url)).text();
    t.notRegex(text, /(?:contact|write to|ask|tell) (?:our |the )?support/i, url);
  }
  const report = await fetch(`${unnamed.baseUrl}/.well-known/security.txt`);
  t.is(report.status, 404);
  t.regex(await report.text(), /no operator named/);
});

test('the pages name the operator, literally', async (t) => {
  const contact = await textOf(named, '/contact');
  t.regex(contact, /This service is run by Example \*Tools\* & Sons\./);
  t.regex(contact, /problems: help@tools\.example .*security\+reports@tools\.example/);
  t.regex(contact, /Postal address: 1 Example Street, London/);
  const html = await (await fetch(`${named.baseUrl}/contact`)).text();
  t.true(html.includes('href="mailto:security%2Breports@tools.example"'));
  for (const path of PAGES) t.notRegex(await textOf(named, path), /no operator named/);
});

test('the texts of the operator are shown, or linked where they are elsewhere', async (t) => {
  t.regex(
    await textOf(named, '/terms'),
    /You pay in advance\. Refunds We refund unused credits within 14 days/,
  );
  const privacy = await (await fetch(`${named.baseUrl}/privacy`)).text();
  t.true(privacy.includes(`href="${OPERATOR.PRIVACY_POLICY}"`));
  const signUp = await (await fetch(`${named.baseUrl}/dashboard/sign-up`)).text();
  t.regex(signUp, /you accept the <a href="\/terms">/);
  t.notRegex(await (await fetch(`${unnamed.baseUrl}/dashboard/sign-up`)).text(), /you accept/);
});

test('security.txt has the fields that RFC 9116 requires, and expires within a year', async (t) => {
  const response = await fetch(`${named.baseUrl}/.well-known/security.txt`);
  t.is(response.headers.get('Content-Type'), 'text/plain; charset=utf-8');
  const lines = (await response.text()).trimEnd().split('\n');
  const fields = lines.map((line) => /^([A-Z][\w-]*): (\S.*)$/.exec(line)?.slice(1, 3) ?? [line, '']);
  const of = (name: string) => fields.filter(([field]) => field === name).map(([, value]) => value);
  t.deepEqual(of('Contact'), ['mailto:security%2Breports@tools.example']);
  t.deepEqual(of('Canonical'), [`${LIMITED.publicUrl}/.well-known/security.txt`]);
  const [expires = '', ...others] = of('Expires');
  t.deepEqual(others, []);
  t.regex(expires, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  const days = (Date.parse(expires) - Date.now()) / 86_400_000;
  t.true(days > 30 && days < 365, expires);
});

test('the OpenAPI document names the operator as its contact', async (t) => {
  const document: unknown = await (await fetch(`${named.baseUrl}/openapi.json`)).json();
  t.deepEqual(recordAt(document, 'info', 'contact'), {
    name: OPERATOR.OPERATOR_NAME,
    email: OPERATOR.SUPPORT_EMAIL,
    url: `${LIMITED.publicUrl}/contact`,
  });
  const other: unknown = await (await fetch(`${unnamed.baseUrl}/openapi.json`)).json();
  t.is(recordAt(other, 'info', 'contact').email, undefined);
});

test('variables about the operator are refused without its name, and its name without an address', (t) => {
  const refusal = (env: Record<string, string>) =>
    t.throws(() => readEnv(env), { instanceOf: EnvError }).message;
  const { OPERATOR_NAME, ...others } = OPERATOR;
  for (const [name, value] of Object.entries(others))
    t.is(refusal({ [name]: value }), `${name}: requires OPERATOR_NAME`);
  t.regex(refusal({ OPERATOR_NAME }), /^OPERATOR_NAME: requires SUPPORT_EMAIL/);
  t.regex(refusal({ ...OPERATOR, OPERATOR_NAME: 'two\nlines' }), /^OPERATOR_NAME: must be one line/);
  t.regex(
    refusal({ ...OPERATOR, TERMS_OF_SERVICE: '/nonexistent/terms.md' }),
    /^TERMS_OF_SERVICE: must be an https URL or the path of a Markdown file/,
  );
});
