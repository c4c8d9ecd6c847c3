import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import type { DemoFile } from '../../dev/demo-file.ts';
import { npmStart, STOPPED_MS, stackFolder } from '../helpers/npm-start.ts';
import { pidOf, processesWith, remaining } from '../helpers/processes.ts';
import { startDatabase, startNamespace } from '../helpers/stack.ts';

const exec = promisify(execFile);

const isUp = async (url: string): Promise<boolean> => (await fetch(`${url}/livez`)).ok;

/** Calls a tool that costs one credit. Returns the balance after the call. */
async function creditsAfterCall({ baseUrl, apiKey }: DemoFile): Promise<number> {
  const response = await fetch(`${baseUrl}/api/v1/tools/hash-text`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: '{"text":"abc"}',
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return Number(response.headers.get('x-credits-remaining'));
}

test.serial(
  'two copies of the service run side by side; kill -9 leaves no process behind; the second start keeps the data',
  async (t) => {
    const [dataDir, otherDir] = [await stackFolder(t), await stackFolder(t)];
    const [first, other] = [
      npmStart({ DATA_DIR: dataDir, PORT: '0' }),
      npmStart({ DATA_DIR: otherDir, PORT: '0' }),
    ];
    const [demo, otherDemo] = await Promise.all([first.ready(), other.ready()]);
    t.true((await isUp(demo.baseUrl)) && (await isUp(otherDemo.baseUrl)));
    t.is(new Set([demo.baseUrl, otherDemo.baseUrl, demo.mongodbUri, otherDemo.mongodbUri]).size, 4);
    t.not(demo.temporalAddress, otherDemo.temporalAddress);

    t.is((await stat(join(dataDir, 'demo.json'))).mode & 0o777, 0o600);
    const lines = first.output().trimEnd().split('\n');
    t.is(lines.at(-1), `ready: ${demo.baseUrl}`);
    const curl = lines.find((line) => line.startsWith('curl ')) ?? '';
    const { stdout } = await exec('sh', ['-c', `${curl} --silent --show-error --fail`]);
    t.is(typeof JSON.parse(stdout), 'object');
    t.regex(await (await fetch(`${demo.temporalUiUrl}/`)).text(), /<html/i);

    const credits = await creditsAfterCall(demo);

    const again = await npmStart({ DATA_DIR: dataDir, PORT: '0' }).exited;
    t.is(again.code, 1);
    t.regex(again.stderr, /^DATA_DIR: a stack already runs in .*\n$/);
    const thirdDir = await stackFolder(t);
    const taken = await npmStart({ DATA_DIR: thirdDir, PORT: new URL(demo.baseUrl).port }).exited;
    t.is(taken.code, 1);
    t.regex(taken.stderr, /^PORT: cannot listen on .*EADDRINUSE.*\n$/);
    t.true(await isUp(demo.baseUrl), 'the running stack is not disturbed');

    other.kill('SIGTERM');
    t.is((await other.exited).code, 0);
    t.deepEqual(await remaining(otherDir, 0), [], 'SIGTERM to npm alone stops everything before npm exits');

    process.kill(pidOf(dataDir, /dev\/main\.ts/), 'SIGKILL');
    t.deepEqual(await remaining(dataDir, STOPPED_MS), [], 'kill -9 of main.ts');

    const second = npmStart({ DATA_DIR: dataDir, PORT: '0' });
    const secondDemo = await second.ready();
    t.like(secondDemo, { apiKey: demo.apiKey, accountKey: demo.accountKey, accountId: demo.accountId });
    t.is(secondDemo.mongodbUri, demo.mongodbUri, 'the same port as before');
    t.is(await creditsAfterCall(secondDemo), credits - 1, 'the key is valid and the balance is unchanged');

    second.kill('SIGKILL');
    t.deepEqual(await remaining(dataDir, STOPPED_MS), [], 'kill -9 of npm');
  },
);

test.serial(
  'with configured server addresses no local servers start; kill -9 of the launcher leaves no process behind',
  async (t) => {
    const dataDir = await stackFolder(t);
    const { mongodbUri, stop } = await startDatabase();
    const { temporalAddress, namespace, stop: leave } = await startNamespace();
    t.teardown(async () => {
      await stop();
      await leave();
    });
    const started = npmStart({
      DATA_DIR: dataDir,
      PORT: '0',
      MONGODB_URI: mongodbUri,
      TEMPORAL_ADDRESS: temporalAddress,
      TEMPORAL_NAMESPACE: namespace,
    });
    const demo = await started.ready();
    t.like(demo, { mongodbUri, temporalAddress, temporalNamespace: namespace, temporalUiUrl: null });
    t.true(await isUp(demo.baseUrl));
    t.deepEqual(
      processesWith(dataDir).filter((line) => /mongod |temporal server/.test(line)),
      [],
    );
    process.kill(pidOf(dataDir, /dev\/start\.mjs/), 'SIGKILL');
    t.deepEqual(await remaining(dataDir, STOPPED_MS), []);
  },
);
