import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import test, { type ExecutionContext } from 'ava';
import type { Browsers } from '../../activities/browser/pool.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import { openBrowsers } from '../helpers/browser.ts';
import { makeCertificate } from '../helpers/certificates.ts';
import { codeOf, type StubNetwork, stubNetwork } from '../helpers/egress.ts';
import { casesOf, readDnsCase, type SsrfCase } from '../helpers/ssrf.ts';
import { loadTool } from '../helpers/tool.ts';

/** A field of a tool's input that names the target. */
interface TargetField {
  tool: ToolDefinition;
  field: string;
  accepts: 'url' | 'host';
}

const registry = [...(await loadRegistry()).values()];
const FIELDS: readonly TargetField[] = registry.flatMap((tool) =>
  Object.keys(tool.input.properties).flatMap((field): TargetField[] => {
    if (/url$/i.test(field)) return [{ tool, field, accepts: 'url' }];
    return /^host(name)?$/i.test(field) ? [{ tool, field, accepts: 'host' }] : [];
  }),
);

/** The tool that accepts a URL in place of a host and uses only the host of the URL. */
const ACCEPTS_URL = 'ping';
/** The tool that accepts any port after its host. */
const ACCEPTS_PORT = 'ssl-check';
/** The tool that connects only to DNS servers, and may return any answer, including private addresses. */
const DNS_ONLY = 'dns-lookup';
/** The tool that returns redirects instead of following them. */
const FOLLOWS_NO_REDIRECT = 'http-request';

/** The address and port to which every name leads that the DNS stub resolves. */
const EXAMPLE = '93.184.215.14:80';
const REFUSALS = ['invalid_input', 'target_refused'];
const refused = (kind: string): SsrfCase[] => casesOf(kind).filter(({ verdict }) => verdict === 'refuse');

/** Runs `work` and returns how many sockets this process opened in the meantime. */
async function countSockets(work: () => Promise<void>): Promise<number> {
  let made = 0;
  const count = (): void => {
    made += 1;
  };
  const channels = ['net.client.socket', 'udp.socket'];
  for (const channel of channels) subscribe(channel, count);
  try {
    await work();
  } finally {
    for (const channel of channels) unsubscribe(channel, count);
  }
  return made;
}

const unasked = async () => {
  throw new Error('DNS was asked');
};

/** Calls a tool with its example input and this value in the target field. @returns `ok` or the error code */
async function callTool({ tool, field }: TargetField, context: { resource?: Browsers } = {}) {
  const { call } = await loadTool(tool.name);
  const example = tool.examples[0]?.input ?? {};
  return (value: string, { guard: egress }: StubNetwork): Promise<string> =>
    codeOf(() =>
      call(
        { ...example, [field]: value },
        { egress, resolver: { lookup: unasked, lookupValidated: unasked, addresses: unasked }, ...context },
      ),
    );
}

/** Asserts that each target is refused without a DNS lookup or a connection. */
async function refusesAll(
  t: ExecutionContext,
  target: TargetField,
  rows: readonly SsrfCase[],
): Promise<void> {
  const call = await callTool(target);
  using network = await stubNetwork({});
  const sockets = await countSockets(async () => {
    for (const { input, why } of rows) {
      const code = await call(input, network);
      t.true(REFUSALS.includes(code), `${JSON.stringify(input)}: ${why}: ${code}`);
    }
  });
  t.deepEqual([network.lookups, network.dialled, sockets], [[], [], 0]);
}

test('the target field of every tool that refuses targets is known to this test', (t) => {
  const known = new Set(FIELDS.map(({ tool }) => tool.name));
  for (const { name, errors } of registry)
    if (errors.includes('target_refused'))
      t.true(known.has(name), `${name}: no url, fileUrl, host or hostname`);
  t.true(known.size >= 4);
});

for (const target of FIELDS) {
  const { tool, field, accepts } = target;
  const label = `${tool.name}, ${field}`;

  if (accepts === 'url') {
    test.serial(`${label}: refuses the URLs of the case file`, (t) => refusesAll(t, target, refused('url')));
    test.serial(`${label}: rejects a bare host in place of a URL`, (t) =>
      refusesAll(
        t,
        target,
        casesOf('host').filter(({ input }) => !input.includes('://')),
      ),
    );
  } else {
    const both = tool.name === ACCEPTS_URL;
    const withPort = tool.name === ACCEPTS_PORT;
    test.serial(`${label}: refuses the hosts of the case file`, (t) =>
      refusesAll(
        t,
        target,
        refused('host').filter(
          ({ input, why }) =>
            !(both && input.includes('://')) &&
            !(withPort && why.includes('with a port')) &&
            // `*.` at the start is not valid in a host, but it is valid in a DNS name, which this tool resolves.
            !(tool.name === DNS_ONLY && input.startsWith('*.')),
        ),
      ),
    );
    test.serial(`${label}: refuses the URLs of the case file in place of hosts`, (t) =>
      refusesAll(
        t,
        target,
        refused('url').filter(({ why }) => !both || !why.includes('bad ports')),
      ),
    );
  }

  if (tool.name !== DNS_ONLY)
    test.serial(`${label}: refuses names that resolve to private addresses`, async (t) => {
      const call = await callTool(target);
      for (const { input, why } of refused('dns')) {
        const { host, answers } = readDnsCase(input);
        using network = await stubNetwork({ resolve: () => answers[0] ?? { addresses: [], chain: [] } });
        const code = await call(accepts === 'url' ? `http://${host}/` : host, network);
        t.true(['target_refused', 'host_not_found'].includes(code), `${input}: ${why}: ${code}`);
        t.deepEqual([network.lookups, network.dialled], [[host], []], input);
      }
    });

  if (accepts === 'url' && tool.pool !== 'browser')
    test.serial(
      `${label}: connects to public targets, which shows that the refusals are not accidental`,
      async (t) => {
        using network = await stubNetwork({});
        await (await callTool(target))('http://example.com/', network);
        t.deepEqual([network.lookups[0], network.dialled[0]], ['example.com', EXAMPLE]);
      },
    );

  if (accepts === 'url')
    test.serial(`${label}: refuses redirects to private targets`, async (t) => {
      await using open = new AsyncDisposableStack();
      const browser = tool.pool === 'browser';
      const call = await callTool(target, browser ? { resource: open.use(await openBrowsers()) } : {});
      const certificate = await makeCertificate(['DNS:example.com']);
      for (const { input, why } of refused('redirect')) {
        const [first = '', ...locations] = input.split(' -> ');
        const hops = locations.length === 1 ? 1 : 11;
        using network = await stubNetwork({
          certificate,
          handle: (_, response) => {
            const location = locations.shift() ?? first;
            response.socket?.end(`HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`);
          },
        });
        const code = await call(first, network);
        const message = `${input}: ${why}: ${code}`;
        if (browser) {
          // Chromium may also report target_failed: it tries https first, opens connections in advance, and handles
          // broken redirects differently.
          t.true(['target_refused', 'target_failed'].includes(code), message);
          t.true(network.dialled.includes(EXAMPLE), message);
          t.deepEqual(
            network.dialled.filter((place) => !/^93\.184\.215\.14:(80|443)$/.test(place)),
            [],
            message,
          );
        } else if (tool.name === FOLLOWS_NO_REDIRECT) {
          t.is(code, 'ok', message);
          t.deepEqual(network.dialled, [EXAMPLE], message);
        } else {
          t.is(code, hops === 1 ? 'target_refused' : 'target_failed', message);
          t.deepEqual(network.dialled, Array(hops).fill(EXAMPLE), message);
        }
      }
    });
}
