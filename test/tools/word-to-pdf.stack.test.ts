import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { listen } from '../helpers/egress.ts';
import { recordAt } from '../helpers/json.ts';
import { auditWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { makeDocx } from '../helpers/office.ts';
import { childrenOf, processesWith } from '../helpers/processes.ts';
import { startStack } from '../helpers/stack.ts';

test('without LibreOffice the call is refunded and the error states the reason; the worker keeps running', async (t) => {
  const stack = await startStack({
    pools: ['orchestrator', 'heavy'],
    env: { SOFFICE_PATH: '/nonexistent/soffice' },
  });
  const store = await openStore(stack.mongodbUri);
  try {
    const account = await makeAccount(stack, 100);
    const response = await account.call('word-to-pdf', { fileUrl: 'https://example.com/letter.docx' });
    t.is(response.status, 503);
    t.regex(response.headers.get('Retry-After') ?? '', /^[1-9]\d*$/);
    t.is(response.headers.get('X-Credits-Charged'), '0');
    const problem = recordAt(await response.json());
    t.like(problem, { code: 'tool_unavailable', detail: 'LibreOffice is not installed on this server.' });
    t.false(JSON.stringify(problem).includes('/nonexistent'));
    t.true(processesWith(stack.dataDir).some((line) => line.includes('heavy')));
    t.deepEqual(await auditWhenIdle(store), []);
    const calls = await callsOf(store, account.accountId);
    t.like(calls[0], { tool: 'word-to-pdf', charged: 0, code: 'tool_unavailable' });
  } finally {
    await store.close();
    await stack.stop();
  }
});

/** Number of paragraphs of a document whose conversion takes long enough to be interrupted. */
const PARAGRAPHS = 3000;

test('a conversion whose LibreOffice is killed from outside is repeated', async (t) => {
  t.timeout(180_000);
  const document = makeDocx({ body: '<w:p><w:r><w:t>Some words.</w:t></w:r></w:p>'.repeat(PARAGRAPHS) });
  const files = createServer((_, response) => response.end(document));
  const host = `127.0.0.1:${await listen(files)}`;
  const stack = await startStack({ pools: ['orchestrator', 'heavy'], env: { EGRESS_ALLOW: host } });
  try {
    const account = await makeAccount(stack, 1000);
    /** Processes that convert a document: the parent in the new namespaces, and the child that runs LibreOffice. */
    const converting = () =>
      childrenOf(stack.pid('heavy') ?? 0, /^[^\0]*soffice\.bin\0/)
        .filter((pid) => existsSync(`/proc/${pid}/root/tmp/job/in`))
        .sort((a, b) => a - b);
    for (const victim of [0, 1]) {
      while (converting().length > 0) await sleep(10);
      const pending = account.call('word-to-pdf', { fileUrl: `http://${host}/letter.docx` });
      while (converting().length < 2) await sleep(10);
      process.kill(converting()[victim] ?? 0, 'SIGKILL');
      const response = await pending;
      t.is(response.status, 200, await response.text());
    }
  } finally {
    await stack.stop();
    files.close();
  }
});
