import test from 'ava';
import { type Certificate, makeCertificate } from '../helpers/certificates.ts';
import { codeOf, type StubNetwork, soon, stubNetwork } from '../helpers/egress.ts';
import { casesOf, readDnsCase, SSRF_CASES } from '../helpers/ssrf.ts';

const REFUSALS = ['invalid_input', 'target_refused'];
const URL_KIND = { kind: 'url', pointer: '/url' } as const;

let certificate: Certificate;
test.before(async () => {
  const names = ['1.1.1.1', '2001:4860:4860::8888'].map((address) => `IP:${address}`);
  const hosts = ['example.com', '*.example.com', 'www.example.co.uk', 'www.example.org'];
  certificate = await makeCertificate([...names, ...hosts.map((host) => `DNS:${host}`)]);
});

/** Downloads a URL. Returns `ok` or the error code. */
const download = ({ guard }: StubNetwork, url: string): Promise<string> =>
  codeOf(async () => {
    const response = await guard.fetch(guard.parseTarget(url, URL_KIND), { ...soon(), maxBytes: 1000 });
    await response.bytes();
  });

test('the case file is complete and has known kinds only', (t) => {
  t.is(SSRF_CASES.length, 257 + 153);
  for (const { kind, verdict } of SSRF_CASES) {
    t.true(['url', 'host', 'redirect', 'dns'].includes(kind), kind);
    t.true(['allow', 'refuse'].includes(verdict), verdict);
  }
});

test('URLs get the verdict of the case file', async (t) => {
  for (const { input, verdict, why } of casesOf('url')) {
    const network = await stubNetwork({ certificate });
    const code = await download(network, input);
    network.close();
    if (verdict === 'allow') t.is(code, 'ok', `${input}: ${why}`);
    else t.true(REFUSALS.includes(code), `${input}: ${why}: ${code}`);
    t.is(network.dialled.length, verdict === 'allow' ? 1 : 0, input);
  }
});

test('bare hosts get the verdict of the case file', async (t) => {
  for (const { input, verdict, why } of casesOf('host')) {
    const network = await stubNetwork({});
    const { guard } = network;
    const code = await codeOf(async () => {
      const target = guard.parseTarget(input, { kind: 'host', port: 25, pointer: '/host' });
      const socket = await guard.connect(await guard.vet(target, soon()), soon());
      socket.destroy();
    });
    network.close();
    if (verdict === 'allow') t.is(code, 'ok', `${input}: ${why}`);
    else t.true(REFUSALS.includes(code), `${input}: ${why}: ${code}`);
    t.is(network.dialled.length, verdict === 'allow' ? 1 : 0, input);
  }
});

test('redirects get the verdict of the case file', async (t) => {
  for (const { input, verdict, why } of casesOf('redirect')) {
    const [first = '', ...locations] = input.split(' -> ');
    const network = await stubNetwork({
      certificate,
      handle: (_, response) => {
        const location = locations.shift();
        if (location === undefined) response.end('hello');
        else {
          response.socket?.end(`HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`);
        }
      },
    });
    const code = await download(network, first);
    network.close();
    const refusal = why.startsWith('redirect loop') ? 'target_failed' : 'target_refused';
    t.is(code, verdict === 'allow' ? 'ok' : refusal, `${input}: ${why}`);
  }
});

test('DNS answers get the verdict of the case file, with one lookup and one connection to the first address', async (t) => {
  for (const { input, verdict, why } of casesOf('dns')) {
    const { host, answers } = readDnsCase(input);
    const network = await stubNetwork({
      resolve: () =>
        answers[Math.min(network.lookups.length - 1, answers.length - 1)] ?? { addresses: [], chain: [] },
    });
    const code = await download(network, `http://${host}/`);
    network.close();
    t.is(network.lookups.length, 1, input);
    if (verdict === 'allow') {
      t.is(code, 'ok', `${input}: ${why}`);
      t.deepEqual(network.dialled, [`${answers[0]?.addresses[0]}:80`], input);
    } else {
      t.true([...REFUSALS, 'host_not_found'].includes(code), `${input}: ${why}: ${code}`);
      t.deepEqual(network.dialled, [], input);
    }
  }
});
