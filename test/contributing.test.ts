import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { makeAccount } from './helpers/account.ts';
import { newOwner } from './helpers/dashboard.ts';
import { recordAt } from './helpers/json.ts';
import { copyProject, runIn, startCopy } from './helpers/projectCopy.ts';

// Follows the steps of CONTRIBUTING.md in a copy of the project. test/addTool.test.ts and test/addPool.test.ts add tools and pools.

/** Inserts text into a file of the copy, before the only place where `at` stands. */
async function insert(folder: string, file: string, at: string, text: string): Promise<void> {
  const path = join(folder, file);
  const parts = (await readFile(path, 'utf8')).split(at);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times ${at}`);
  await writeFile(path, parts.join(`${text}${at}`));
}

const PAGE = {
  'api/dashboard/pages/hello/view.ts': `import { html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';

export const HELLO_PATH = '/dashboard/hello';

export const helloPage = (viewer: Viewer): string =>
  layout({ title: 'Hello', menu: { viewer, section: 'Keys' }, main: html\`<p>Hello, \${viewer.user.email}.</p>\` });
`,
  'api/dashboard/pages/hello/routes.ts': `import type { Dashboard } from '../../frame/dashboard.ts';
import { sendPage } from '../../frame/pageRouter.ts';
import { HELLO_PATH, helloPage } from './view.ts';

/** Registers a page that greets. */
export function helloRoutes({ pages }: Dashboard): void {
  pages.get(HELLO_PATH, async ({ ctx, viewer }) => sendPage(ctx, helloPage(viewer)));
}
`,
};

test('an option, an error, an event and a page are added by the steps of CONTRIBUTING.md', async (t) => {
  t.timeout(300_000);
  await using owned = new AsyncDisposableStack();
  const folder = await copyProject(t, PAGE);
  const add = (file: string, at: string, text: string) => insert(folder, file, at, text);

  // An option.
  await add(
    'schemas/tools/hash-text.ts',
    "    },\n    required: ['text'],",
    "      digits: { type: 'integer', minimum: 1, default: 128, description: 'Digits to return.' },\n",
  );
  await add(
    'activities/tools/hash-text.ts',
    '  return { algorithm',
    '  const hash = await DIGESTS[input.algorithm](input.text);\n' +
      '  if (hash.length > input.digits) return { algorithm: input.algorithm, hash: hash.slice(0, input.digits) };\n',
  );
  // An error.
  await add(
    'schemas/errors.ts',
    '  insufficient_scope: {',
    "  too_rhythmic: { status: 422, title: 'Too rhythmic', detail: 'The text has a rhythm.' },\n",
  );
  await add('api/openapi/remedies.ts', '  insufficient_scope:', "  too_rhythmic: 'Send prose.',\n");
  await add('schemas/tools/hash-text.ts', '],\n});\n', "'too_rhythmic'");
  // An event.
  await add('schemas/events.ts', "  'webhook.test',\n] as const;", "  'account.greeted',\n");
  await add(
    'schemas/events.ts',
    "  'credits.low': {",
    `  'account.greeted': {
    summary: 'Somebody greeted.',
    data: { type: 'object', properties: { message }, required: ['message'], additionalProperties: false },
    example: { message: 'Hello.' },
  },\n`,
  );
  // A page.
  await add(
    'api/dashboard/area.ts',
    'import { keysRoutes }',
    "import { helloRoutes } from './pages/hello/routes.ts';\n",
  );
  await add('api/dashboard/area.ts', '  operatorRoutes,\n  dismissalRoutes,', '  helloRoutes,\n');

  const { message = '' } = await t.throwsAsync(runIn(folder, ['node_modules/.bin/tsc', '--pretty', 'false']));
  const faults = message.split('\n').filter((line) => line.includes('error TS'));
  t.true(faults.length > 0);
  t.deepEqual(
    faults.filter((line) => !line.startsWith('test/webhooks/everyEvent.test.ts')),
    [],
    'only the test of events misses something: how the new one is caused',
  );

  const stack = await startCopy(t, owned, folder, ['orchestrator', 'cpu']);
  const account = await makeAccount(stack, 10);
  const response = await account.call('hash-text', { text: 'abc', algorithm: 'md5', digits: 8 });
  t.like(await response.json(), { hash: '90015098' });
  const spec = recordAt(await (await fetch(`${stack.baseUrl}/openapi.json`)).json());
  t.true(JSON.stringify(spec).includes('account.greeted'));
  t.regex(await (await fetch(`${stack.baseUrl}/docs/errors`)).text(), /too_rhythmic[\s\S]*Send prose\./);
  const owner = await newOwner(stack);
  t.true((await (await owner.get('/hello')).text()).includes(`Hello, ${owner.email}.`));
  t.regex(await runIn(folder, ['dev/docs.ts']), /updated clients\//);
});
