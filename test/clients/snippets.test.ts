import test from 'ava';
import { load } from 'cheerio';
import { makeAccount } from '../helpers/account.ts';
import { ACCOUNT_KEY_VARIABLE, KEY_VARIABLE } from '../helpers/agentClients.ts';
import { runSnippet } from '../helpers/guideSnippets.ts';
import { recordAt } from '../helpers/json.ts';
import { useStack } from '../helpers/profiles.ts';

const stack = await useStack();
test.after.always(() => stack.stop());

/** One request of each form: with and without a body, a key and a result. Statuses of their successes. */
const REQUESTS = [
  ['/docs/tools/hash-text', 200],
  ['/docs/reference/list-tools', 200],
  ['/docs/reference/list-calls', 200],
  ['/docs/reference/create-key', 201],
  ['/docs/reference/change-key', 200],
  ['/docs/reference/revoke-key', 204],
  ['/docs/reference/create-file', 201],
] as const;

/** Languages by their titles on the pages. */
const LANGUAGES = { curl: 'sh', 'Node.js': 'js', Python: 'python', Go: 'go', PHP: 'php' } as const;

/** The snippet of a page in a language. */
async function snippetOf(path: string, title: string): Promise<string> {
  const $ = load(await (await fetch(`${stack.baseUrl}${path}`)).text());
  const [found] = $('.example details')
    .toArray()
    .filter((it) => $(it).children('summary').text() === title);
  if (found === undefined) throw new Error(`${path} has no snippet in ${title}`);
  return $(found).find('pre').text();
}

for (const [title, language] of Object.entries(LANGUAGES))
  test(`the examples of the reference in ${title} run as they are printed`, async (t) => {
    t.timeout(600_000);
    const { toolsKey, accountKey } = await makeAccount(stack, 10);
    const env = { [KEY_VARIABLE]: toolsKey, [ACCOUNT_KEY_VARIABLE]: accountKey };
    const made = await fetch(`${stack.baseUrl}/api/v1/account/keys`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${accountKey}`, 'Content-Type': 'application/json' },
      body: '{"name": "example", "scopes": ["tools"]}',
    });
    const { id } = recordAt(await made.json());
    for (const [path, status] of REQUESTS) {
      const code = (await snippetOf(path, title))
        .replaceAll(/key_[\da-f-]{36}/g, String(id))
        .replace(/^curl /, "curl -sS -o /dev/null -w '%{http_code}' ");
      t.regex(
        await runSnippet({ language, code }, env, { 'menu.pdf': '%PDF-1.7' }),
        new RegExp(`^${status}\\b`),
        `${title} ${path}`,
      );
    }
  });
