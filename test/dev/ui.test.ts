import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { startUiProxy } from '../../dev/ui.ts';

/** Starts a server that responds with the request it received. */
async function echo(t: ExecutionContext, name: string): Promise<number> {
  const server: Server = createServer(async (request, response) => {
    const { cookie, origin } = request.headers;
    const body = String(await buffer(request));
    response.setHeader('set-cookie', ['a=1', 'b=2']);
    response.statusCode = 201;
    response.end(JSON.stringify({ name, method: request.method, url: request.url, cookie, origin, body }));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

test('the Temporal UI and the codec share one origin, including cookies', async (t) => {
  const proxy = await startUiProxy();
  t.teardown(proxy.stop);
  t.is((await fetch(`${proxy.url}/namespaces`)).status, 503, 'the UI is not running yet');
  const ui = await echo(t, 'ui');
  proxy.setUiPort(ui);
  proxy.setApiUrl(`http://127.0.0.1:${await echo(t, 'api')}`);

  const page = await fetch(`${proxy.url}/namespaces/default?x=1`);
  t.is(page.status, 201);
  t.deepEqual(page.headers.getSetCookie(), ['a=1', 'b=2']);
  t.like(await page.json(), { name: 'ui', method: 'GET', url: '/namespaces/default?x=1' });

  const headers = { cookie: 'session=s', origin: proxy.url, 'content-type': 'application/json' };
  const codec = await fetch(`${proxy.url}/codec/decode`, {
    method: 'POST',
    headers,
    body: '{"payloads":[]}',
  });
  t.like(await codec.json(), {
    name: 'api',
    method: 'POST',
    url: '/codec/decode',
    cookie: 'session=s',
    origin: proxy.url,
    body: '{"payloads":[]}',
  });
  t.like(await (await fetch(`${proxy.url}/codecs`)).json(), { name: 'ui' });
});

test('a server that is unavailable leads to a 502 response', async (t) => {
  const proxy = await startUiProxy();
  t.teardown(proxy.stop);
  const closed = await startUiProxy();
  await closed.stop();
  proxy.setUiPort(closed.port);
  t.is((await fetch(proxy.url)).status, 502);
});
