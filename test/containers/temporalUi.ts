import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { recordAt, recordsAt } from '../helpers/json.ts';
import { until } from '../helpers/until.ts';
import { type Client, type HttpResult, UI_PORT } from './client.ts';
import { step } from './harness.ts';

/** Origin of the Temporal UI for a browser, without the port at which the test reaches it. */
const UI_ORIGIN = 'https://localhost:8233';
const TEXT = 'readable for operators alone';

/** Returns the Cookie header that a browser sends after this response. */
const cookieOf = ({ headers }: HttpResult): string =>
  [headers['set-cookie'] ?? []]
    .flat()
    .map((cookie) => cookie.split(';', 1).join())
    .join('; ');

/** Tests the Temporal UI behind the proxy, which serves it to signed-in operators. @returns credits that were spent */
export async function testTemporalUi(client: Client, price: number): Promise<number> {
  const credentials = { email: `${randomUUID()}@example.com`, password: randomUUID() };
  let cookie = '';
  const ui = (path: string, init: { body?: unknown } = {}) =>
    client.send(path, { port: UI_PORT, headers: { cookie, origin: UI_ORIGIN }, ...init });

  await step('the Temporal UI is closed to visitors and to owners', async () => {
    const visitor = await ui('/');
    assert.deepEqual([visitor.status, visitor.headers.location], [302, 'https://localhost/dashboard']);
    const signedUp = await client.send('/api/auth/sign-up/email', {
      body: { name: 'Jane', ...credentials },
      headers: { origin: 'https://localhost' },
    });
    assert.equal(signedUp.status, 200, signedUp.text);
    cookie = cookieOf(signedUp);
    for (const path of [
      '/',
      '/namespaces/utility-tools/workflows',
      '/api/v1/namespaces/utility-tools/workflows',
    ])
      assert.equal((await ui(path)).status, 403, path);
  });

  let spent = 0;
  await step('an operator opens the Temporal UI and reads a decoded payload through it', async () => {
    const role = ['users', 'set', '--email', credentials.email, '--role', 'operator'];
    await client.compose(['exec', '-T', 'api', 'node', 'api/cli/admin.ts', ...role]);
    const page = await ui('/');
    assert.equal(page.status, 200, page.text);
    assert.match(page.text, /<html/i);
    const settings = await ui('/api/v1/settings');
    assert.equal(recordAt(settings.json, 'Codec').Endpoint, `${UI_ORIGIN}/codec`, settings.text);

    const called = await client.call('hash-text', { text: TEXT });
    assert.equal(called.status, 200, called.text);
    spent = price;
    const query = encodeURIComponent("WorkflowType = 'callTool' AND Tool = 'hash-text'");
    /** Returns the decoded inputs of the newest calls. */
    const readTexts = async (): Promise<string[]> => {
      const list = await ui(`/api/v1/namespaces/utility-tools/workflows?query=${query}`);
      assert.equal(list.status, 200, list.text);
      const ids = recordsAt(list.json.executions).map((it) => String(recordAt(it, 'execution').workflowId));
      return (await Promise.all(ids.slice(0, 5).map(readText))).flat();
    };
    const readText = async (id: string): Promise<string[]> => {
      const history = await ui(`/api/v1/namespaces/utility-tools/workflows/${id}/history`);
      const [started] = recordsAt(recordAt(history.json, 'history').events);
      const { payloads } = recordAt(started, 'workflowExecutionStartedEventAttributes', 'input');
      assert.ok(Array.isArray(payloads) && payloads.length > 0, history.text);
      assert.ok(!Buffer.from(JSON.stringify(payloads)).includes(TEXT));
      const decoded = await ui('/codec/decode', { body: { payloads } });
      assert.equal(decoded.status, 200, decoded.text);
      assert.equal(decoded.headers['access-control-allow-origin'], UI_ORIGIN);
      return recordsAt(decoded.json.payloads).map(({ data }) =>
        Buffer.from(String(data), 'base64').toString(),
      );
    };
    // Temporal lists a new workflow a moment after its start.
    await until('the call in the UI', async () => (await readTexts()).some((text) => text.includes(TEXT)));
  });

  await step('the Temporal UI is published only through the proxy', async () => {
    const published = await client.docker('ps', '--format', '{{.Names}} {{.Ports}}');
    for (const line of published.split('\n'))
      if (/0\.0\.0\.0|127\.0\.0\.1/.test(line)) assert.match(line, /proxy/, line);
  });
  return spent;
}
