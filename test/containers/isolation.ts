import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { CONFINED_POOLS, POOLS } from '../../schemas/pools.ts';
import { recordAt } from '../helpers/json.ts';
import { type Client, NODE_IMAGE, PROJECT } from './client.ts';
import { step } from './harness.ts';
import { type Attempt, isReached, readProbe } from './probe.ts';

// What a process that took over the container of a confined pool can reach: the gateway, and nothing else. Each attempt is
// also made from a container that may succeed, so that a failure means that the isolation works.

/** An attempt, and a network of the stack from which it succeeds. */
interface Probe {
  what: string;
  attempt: Attempt;
  from: string;
  /** The attempt from there, if it differs. */
  control?: Attempt;
}

const FIXTURE = '10.99.30.10';
/** Ports of the services, and a network whose containers may connect to them. */
const SERVERS: [service: string, network: string, ports: readonly number[]][] = [
  ['mongodb', 'services', [27017]],
  ['api', 'services', [8080, 9090]],
  ['orchestrator', 'services', [9090]],
  ['delivery', 'services', [9090]],
  ...POOLS.filter((pool) => !CONFINED_POOLS.includes(pool)).map((pool): [string, string, number[]] => [
    pool,
    'services',
    [9090],
  ]),
  // Its port for metrics; the workers reach its other ports, in their own networks.
  ['gateway', 'services', [9090]],
  ['temporal', 'services', [7233, 7234, 7235, 7243, 6933, 6934, 6935, 6939]],
  ['temporal-ui', 'edge-ui', [8080]],
  ['postgresql', 'temporal-data', [5432]],
  ['proxy', 'edge', [80, 443, 8233]],
];
/** Addresses outside the machine. The control sends them no packet, but only asks for the route. */
const OUTSIDE: [what: string, host: string][] = [
  ['the cloud metadata service', '169.254.169.254'],
  ['the Internet', '93.184.215.14'],
];

async function addressIn(client: Client, service: string, network: string): Promise<string> {
  const [id = ''] = await client.ids(service);
  const [details]: unknown[] = JSON.parse(await client.docker('inspect', id));
  const networks = recordAt(details, 'NetworkSettings', 'Networks');
  return String(recordAt(networks, `${PROJECT}_${network}`).IPAddress);
}

/** Returns the address that this machine has in a network of the stack. */
async function gatewayOf(client: Client, network: string): Promise<string> {
  const format = '{{(index .IPAM.Config 0).Gateway}}';
  return (await client.docker('network', 'inspect', '--format', format, `${PROJECT}_${network}`)).trim();
}

async function probes(client: Client, hostPort: number): Promise<Probe[]> {
  const servers = await Promise.all(
    SERVERS.map(async ([service, from, ports]) => {
      const host = await addressIn(client, service, from);
      return ports.map((port) => ({
        what: `${service}:${port}`,
        attempt: { kind: 'tcp' as const, host, port },
        from,
      }));
    }),
  );
  return [
    ...servers.flat(),
    {
      what: 'this machine',
      from: 'outside',
      attempt: { kind: 'tcp', host: await gatewayOf(client, 'outside'), port: hostPort },
    },
    { what: 'a public server', from: 'fixture', attempt: { kind: 'tcp', host: FIXTURE, port: 80 } },
    {
      what: 'a public name server',
      from: 'fixture',
      attempt: { kind: 'dns', host: FIXTURE, name: 'example.com' },
    },
    ...OUTSIDE.map(
      ([what, host]): Probe => ({
        what,
        from: 'outside',
        attempt: { kind: 'tcp', host, port: 80 },
        control: { kind: 'route', host, port: 80 },
      }),
    ),
  ];
}

export async function testIsolation(client: Client): Promise<void> {
  const script = await readProbe();
  const ask = async (run: Client['inside'], where: string, attempts: readonly Attempt[]): Promise<string[]> =>
    JSON.parse(await run(where, script, JSON.stringify(attempts)));

  await step('a compromised container of a confined pool reaches only the gateway', async () => {
    await using owned = new AsyncDisposableStack();
    const host = createServer((socket) => socket.destroy());
    await once(host.listen(0, '0.0.0.0'), 'listening');
    owned.defer(() => void host.close());
    const listening = host.address();
    assert.ok(listening !== null && typeof listening === 'object');
    const all = await probes(client, listening.port);

    // Control: each attempt succeeds from a container that may.
    for (const network of new Set(all.map(({ from }) => from))) {
      const here = all.filter(({ from }) => from === network);
      const outcomes = await ask(
        client.beside,
        network,
        here.map(({ attempt, control }) => control ?? attempt),
      );
      for (const [index, { what }] of here.entries())
        assert.ok(isReached(outcomes[index]), `control: ${what} from ${network}: ${outcomes[index]}`);
    }
    for (const service of CONFINED_POOLS) {
      const outcomes = await ask(
        client.inside,
        service,
        all.map(({ attempt }) => attempt),
      );
      for (const [index, { what }] of all.entries())
        assert.ok(!isReached(outcomes[index]), `${service} reached ${what}: ${outcomes[index]}`);
      const own: Attempt[] = [3128, 7233].map((port) => ({ kind: 'tcp', host: 'gateway', port }));
      assert.deepEqual(await ask(client.inside, service, own), ['connected', 'connected'], service);
      const [metrics] = await ask(client.inside, service, [{ kind: 'tcp', host: 'gateway', port: 9090 }]);
      assert.equal(metrics, 'ECONNREFUSED', `${service} reached the metrics of the gateway`);
      // The other pool has the same isolation, and is in another network.
      const [other = ''] = CONFINED_POOLS.filter((name) => name !== service);
      const neighbour = { kind: 'tcp', host: await addressIn(client, other, other), port: 9090 } as const;
      assert.deepEqual(await ask(client.beside, other, [neighbour]), ['connected']);
      assert.notDeepEqual(await ask(client.inside, service, [neighbour]), ['connected']);
      // This machine has no address in the network, so that the container cannot connect to the machine's services.
      const machine = { kind: 'tcp', host: await gatewayOf(client, service), port: listening.port } as const;
      assert.notDeepEqual(await ask(client.inside, service, [machine]), ['connected']);
    }
  });

  await step("Docker's resolver forwards no queries of the confined pools", async () => {
    const query: Attempt[] = [{ kind: 'dns', host: '127.0.0.11', name: 'example.com' }];
    const control = await client.docker(
      ...['run', '--rm', '--network', `${PROJECT}_fixture`, '--dns', FIXTURE, NODE_IMAGE],
      ...['node', '--input-type=module', '-e', script, JSON.stringify(query)],
    );
    assert.deepEqual(JSON.parse(control), ['resolved']);
    for (const service of CONFINED_POOLS)
      assert.notDeepEqual(await ask(client.inside, service, query), ['resolved'], service);
  });

  await step('the gateway connects to public targets only', async () => {
    const connects = `import { request } from 'node:http';
      const ask = (path) => new Promise((resolve) => {
        const sent = request({ host: 'gateway', port: 3128, method: 'CONNECT', path, timeout: 20000 });
        sent.once('connect', (response, socket) => {
          socket.destroy();
          resolve(response.headers['x-error-code'] ?? response.statusCode);
        });
        sent.once('error', (error) => resolve(error.code));
        sent.end();
      });
      console.log(JSON.stringify(await Promise.all(process.argv.slice(1).map(ask))));`;
    const mongodb = await addressIn(client, 'mongodb', 'services');
    const refused = [
      `${mongodb}:27017`,
      'mongodb:27017',
      `${await addressIn(client, 'api', 'services')}:9090`,
      'temporal:7233',
      'gateway:9090',
      '127.0.0.1:9090',
      '169.254.169.254:80',
      `${await gatewayOf(client, 'outside')}:22`,
      `${FIXTURE}:25`,
    ];
    const outcomes = JSON.parse(await client.inside('browser', connects, `${FIXTURE}:80`, ...refused));
    assert.deepEqual(outcomes, [200, ...refused.map(() => 'target_refused')]);
  });

  await step('the browser container can poll its own queue, and has no secret of the database', async () => {
    const script = `import { readFileSync } from 'node:fs';
      import { Connection } from '@temporalio/client';
      const { env } = process;
      const connection = await Connection.connect({
        address: env.TEMPORAL_ADDRESS,
        tls: {
          serverRootCACertificate: readFileSync(env.TEMPORAL_TLS_SERVER_CA_CERT_PATH),
          clientCertPair: {
            crt: readFileSync(env.TEMPORAL_TLS_CLIENT_CERT_PATH),
            key: readFileSync(env.TEMPORAL_TLS_CLIENT_KEY_PATH),
          },
        },
      });
      const namespace = env.TEMPORAL_NAMESPACE;
      const { workflowService } = connection;
      const status = (request) =>
        request.then(() => 'permitted', (error) => (error.code === 7 ? 'denied' : 'permitted'));
      // A poll without a task ends at its deadline.
      const poll = (name) => connection.withDeadline(Date.now() + 5000, () =>
        status(workflowService.pollActivityTaskQueue({ namespace, taskQueue: { name } })));
      console.log(JSON.stringify({
        namespace: await status(workflowService.describeNamespace({ namespace })),
        own: await poll('tools-browser'),
        other: await poll('tools-network'),
        list: await status(workflowService.listWorkflowExecutions({ namespace })),
        history: await status(workflowService.getWorkflowExecutionHistory({ namespace, execution: { workflowId: 'sweep' } })),
      }));
      await connection.close();`;
    const permitted = { namespace: 'permitted', own: 'permitted' };
    assert.deepEqual(JSON.parse(await client.inside('browser', script)), {
      ...permitted,
      ...{ other: 'denied', list: 'denied', history: 'denied' },
    });
    // Control: the API's certificate may use all of Temporal.
    assert.deepEqual(JSON.parse(await client.inside('api', script)), {
      ...permitted,
      ...{ other: 'permitted', list: 'permitted', history: 'permitted' },
    });
    const secrets = async (service: string) =>
      (await client.compose(['exec', '-T', service, 'ls', '/run/secrets'])).trim().split('\n');
    assert.ok((await secrets('api')).includes('mongodb_uri'));
    assert.deepEqual((await secrets('browser')).toSorted(), ['master_keys', 'otlp_headers']);
  });

  await step(
    'MongoDB serves only clients with a password, and the gateway only the collection of results',
    async () => {
      const script = `import { readFileSync } from 'node:fs';
      import { MongoClient } from 'mongodb';
      const own = readFileSync(process.env.MONGODB_URI_FILE, 'utf8').trim();
      const ask = async (uri) => {
        const client = new MongoClient(uri, { serverSelectionTimeoutMS: 10000 });
        const outcome = (request) => request.then(() => 'permitted', ({ code, message }) => code ?? message);
        const database = client.db('utility_tools');
        try {
          return {
            list: await outcome(client.db('admin').command({ listDatabases: 1 })),
            users: await outcome(client.db('admin').command({ createUser: 'probe', pwd: 'probe', roles: ['root'] })),
            read: await outcome(database.collection('accounts').findOne()),
            write: await outcome(database.collection('accounts').updateOne({ _id: 'probe' }, { $inc: { balance: 1 } })),
            results: await outcome(database.collection('results').findOne()),
          };
        } finally {
          await client.close();
        }
      };
      console.log(JSON.stringify([
        await ask('mongodb://mongodb:27017/?directConnection=true'),
        await ask(own.replace(/:[^:@]+@/, ':wrong@')),
        await ask(own),
      ]));`;
      /** Codes of MongoDB: authentication failed, and not authorised. */
      const [failed, refused] = [18, 13];
      const all = (code: number | string) => ({
        ...{ list: code, users: code, read: code, write: code, results: code },
      });
      assert.deepEqual(JSON.parse(await client.inside('api', script)), [
        all(refused),
        all(failed),
        // Control: the user of the service may read and write, but not create users. Lists of databases are limited to its own.
        { list: 'permitted', users: refused, read: 'permitted', write: 'permitted', results: 'permitted' },
      ]);
      assert.deepEqual(JSON.parse(await client.inside('gateway', script)), [
        all(refused),
        all(failed),
        { list: 'permitted', users: refused, read: refused, write: refused, results: 'permitted' },
      ]);
    },
  );

  await step('Temporal serves only clients with a certificate of its own CA', async () => {
    // A server of HTTP/2 sends its settings at once; one that wants another certificate closes the connection.
    const script = `import { connect } from 'node:tls';
      const { port, ...pem } = JSON.parse(process.argv[1]);
      const socket = connect({ host: 'temporal', port, servername: 'temporal', ALPNProtocols: ['h2'], ...pem });
      const end = (outcome) => console.log(outcome) || process.exit();
      socket.setTimeout(10000, () => end('timeout'));
      socket.once('secureConnect', () => socket.write('PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n\\0\\0\\0\\x04\\0\\0\\0\\0\\0'));
      socket.once('data', () => end('served'));
      socket.once('error', (error) => end(error.code));
      socket.once('close', () => end('closed'));`;
    const pem = async (service: string) => {
      const read = (file: string) => client.compose(['exec', '-T', service, 'cat', `/certificates/${file}`]);
      return { ca: await read('ca.crt'), cert: await read('tls.crt'), key: await read('tls.key') };
    };
    const own = await pem('api');
    const browser = await pem('browser');
    const outcome = async (port: number, certificate: object) =>
      (await client.beside('services', script, JSON.stringify({ port, ca: own.ca, ...certificate }))).trim();
    assert.equal(await outcome(7233, own), 'served');
    for (const port of [7233, 7234, 7235]) {
      assert.notEqual(await outcome(port, {}), 'served', `${port}, no certificate`);
      assert.notEqual(
        await outcome(port, { cert: browser.cert, key: browser.key }),
        'served',
        `${port}, another CA`,
      );
    }
  });

  await step('private keys are readable by their owner only, and services have only their own', async () => {
    const modes = await client.compose([
      'exec',
      '-T',
      'api',
      'stat',
      '-c',
      '%a %u %n',
      '/certificates/tls.key',
      '/certificates/tls.crt',
      '/certificates/ca.crt',
    ]);
    for (const line of modes.trim().split('\n')) assert.match(line, /^400 1000 /);
    for (const service of ['api', ...CONFINED_POOLS, 'temporal-ui'])
      assert.deepEqual(
        (await client.compose(['exec', '-T', service, 'ls', '/certificates'])).trim().split('\n'),
        ['ca.crt', 'tls.crt', 'tls.key'],
        service,
      );
  });
}
