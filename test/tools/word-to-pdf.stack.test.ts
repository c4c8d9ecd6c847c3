import test from 'ava';
import { openStore } from '../../store/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { recordAt } from '../helpers/json.ts';
import { auditWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { processesWith } from '../helpers/processes.ts';
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
