import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { keepPicture } from '../helpers/artefacts.ts';
import { findBrowser, launchChromium } from '../helpers/browser.ts';
import { recordAt, recordsAt } from '../helpers/json.ts';
import { until } from '../helpers/until.ts';
import { type Client, HTTPS_PORT, type HttpResult, UI_PORT } from './client.ts';
import { COMMAND_MS, step } from './harness.ts';

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
  /** Page of the call in the UI. */
  let path = '';
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
    const readTexts = async (id: string): Promise<string[]> => {
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
    /** Looks for the call among the newest ones, by its decoded input. */
    const findCall = async (): Promise<boolean> => {
      const list = await ui(`/api/v1/namespaces/utility-tools/workflows?query=${query}`);
      assert.equal(list.status, 200, list.text);
      for (const listed of recordsAt(list.json.executions).slice(0, 5)) {
        const { workflowId, runId } = recordAt(listed, 'execution');
        if ((await readTexts(String(workflowId))).some((text) => text.includes(TEXT)))
          path = `/namespaces/utility-tools/workflows/${workflowId}/${runId}/history`;
      }
      return path !== '';
    };
    // Temporal lists a new workflow a moment after its start.
    await until('the call in the UI', findCall);
  });

  await step('a browser in which the operator is signed in shows the decoded payload', async () => {
    await using owned = new AsyncDisposableStack();
    // The browser uses the addresses of the installation; the proxy is published at other ports here.
    const ports = `MAP localhost:443 127.0.0.1:${HTTPS_PORT}, MAP localhost:8233 127.0.0.1:${UI_PORT}`;
    const flags = ['--ignore-certificate-errors', `--host-resolver-rules=${ports}, MAP * ~NOTFOUND`];
    const browser = owned.adopt(await launchChromium(flags, await findBrowser()), (it) => it.close());
    const page = await browser.newPage();
    page.setDefaultTimeout(COMMAND_MS);
    await page.setViewport({ width: 1280, height: 1600 });
    await page.goto('https://localhost/dashboard/sign-in');
    await page.type('#email', credentials.email);
    await page.type('#password', credentials.password);
    await Promise.all([page.waitForNavigation(), page.click('form.card button')]);
    await page.goto(UI_ORIGIN + path);
    try {
      await page.waitForSelector(`::-p-text(${TEXT})`);
    } finally {
      keepPicture('containers', 'temporal-ui', await page.screenshot());
    }
  });

  await step('the Temporal UI is published only through the proxy', async () => {
    const published = await client.docker('ps', '--format', '{{.Names}} {{.Ports}}');
    for (const line of published.split('\n'))
      if (/0\.0\.0\.0|127\.0\.0\.1/.test(line)) assert.match(line, /proxy/, line);
  });
  return spent;
}
