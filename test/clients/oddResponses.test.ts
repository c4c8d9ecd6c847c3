import { execFile } from 'node:child_process';
import { createServer, type OutgoingHttpHeaders } from 'node:http';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { UtilityTools } from '../../clients/typescript/src/index.ts';
import { machineEnv } from '../../dev/host.mjs';
import { findTestPython } from '../helpers/clientPackages.ts';
import { listen } from '../helpers/egress.ts';

const run = promisify(execFile);
const SOURCE = fileURLToPath(new URL('../../clients/python/src', import.meta.url));
const SCRIPT = fileURLToPath(new URL('./oddResponses.py', import.meta.url));

interface Odd {
  status?: number;
  headers: OutgoingHttpHeaders;
  body?: string;
  /** The credits of the result: price, charge, rest. Default: no usable response. */
  credits?: (number | null)[];
}

const JSON_TYPE = { 'Content-Type': 'application/json' };
const PROBLEM = { 'Content-Type': 'application/problem+json' };
/** Responses that proxies and other servers send. */
const RESPONSES: Odd[] = [
  { headers: { ...JSON_TYPE, 'X-Credits-Cost': '1', 'X-Credits-Remaining': '-3' }, credits: [1, 1, -3] },
  { headers: { ...JSON_TYPE, 'X-Credits-Cost': '1, 1', 'X-Credits-Charged': '' }, credits: [0, 0, null] },
  {
    headers: { ...JSON_TYPE, 'X-Credits-Cost': '\xb2', 'X-Credits-Remaining': 'many' },
    credits: [0, 0, null],
  },
  { headers: JSON_TYPE, body: '['.repeat(200_000) },
  { status: 503, headers: { 'Retry-After': '\xb2' } },
  { status: 503, headers: { 'Retry-After': '9'.repeat(400) } },
  { status: 502, headers: { 'Retry-After': 'Thu, 01 Jan 99999 00:00:00 GMT' } },
  { status: 400, headers: PROBLEM, body: '{"code":"invalid","detail":"no","errors":{"text":["is wrong"]}}' },
  { status: 400, headers: PROBLEM, body: '"no"' },
  { status: 400, headers: PROBLEM, body: '['.repeat(200_000) },
];

test('odd responses of proxies are results or connection errors, never other errors', async (t) => {
  const server = createServer((request, response) => {
    const {
      status = 200,
      headers,
      body = '{"hash":"00"}',
    } = RESPONSES[Number(request.url?.split('/')[1])] ?? {
      headers: {},
    };
    response.writeHead(status, headers).end(body);
  });
  const port = await listen(server);
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const urls = RESPONSES.map((_, at) => `http://127.0.0.1:${port}/${at}`);
  const expected = (error: string) => RESPONSES.map(({ credits }) => credits ?? error);

  const ours = urls.map(async (baseUrl) => {
    const client = new UtilityTools({
      apiKey: 'key',
      baseUrl,
      maxRetries: 1,
      retryDelayMs: 1,
      timeoutMs: 20_000,
    });
    try {
      const { cost, charged, left } = (await client.hashText({ text: 'a' })).credits;
      return [cost, charged, left];
    } catch (error) {
      return error instanceof Error ? error.name : String(error);
    }
  });
  t.deepEqual(await Promise.all(ours), expected('ConnectionError'));

  const program = run(await findTestPython((line) => t.log(line)), [SCRIPT], {
    env: { ...machineEnv(), PYTHONPATH: SOURCE },
  });
  program.child.stdin?.end(JSON.stringify(urls));
  t.deepEqual(JSON.parse((await program).stdout), expected('ApiConnectionError'));
});
