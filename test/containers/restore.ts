import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Account, assertHealthy, type Client, createClient, PROJECT, UP_MS } from './client.ts';
import { BUILD_MS, runCleanup, step } from './harness.ts';
import { copyProject, prepare } from './project.ts';

interface Machine {
  client: Client;
  folder: string;
  /** An account of the stack, which the client uses by default. */
  account: Account;
  /** Registers what is done at the end of the test. */
  deferCleanup(cleanup: () => Promise<unknown>): void;
}

/** Returns the names of the indexes of each collection. */
async function indexes(client: Client): Promise<unknown> {
  const script = `const password = require('node:fs').readFileSync('/run/secrets/mongodb_root_password', 'utf8').trim();
    db.getSiblingDB('admin').auth('root', password);
    const data = db.getSiblingDB('utility_tools');
    const names = data.getCollectionNames().sort();
    print(JSON.stringify(names.map((name) => [name, data.getCollection(name).getIndexes().map((it) => it.name).sort()])));`;
  const found: unknown = JSON.parse(
    await client.compose(['exec', '-T', 'mongodb', 'mongosh', '--quiet', '--norc', '--eval', script]),
  );
  assert.ok(Array.isArray(found) && found.length > 10);
  return found;
}

/**
 * Restores a backup of a stack in another one, with the commands of docs/operations.md. The other stack has its own folder,
 * Compose project and volumes, as on another machine; it gets only the secrets and the dump. The first stack is stopped.
 */
export async function testRestore({ client, folder, account, deferCleanup }: Machine): Promise<void> {
  const target = await mkdtemp(join(tmpdir(), 'utility-tools-restored-'));
  deferCleanup(() => rm(target, { recursive: true, force: true }));
  const restored = createClient(target, account);
  deferCleanup(restored.close);
  let before: unknown = null;
  let indexesBefore: unknown = null;
  let dump = '';

  await step('the backup writes a dump', async () => {
    before = (await client.account()).json;
    indexesBefore = await indexes(client);
    await client.compose(['exec', '-T', 'backup', 'bash', '/backup.sh', '--once'], UP_MS);
    dump =
      (await readdir(join(folder, 'backups')))
        .filter((name) => name.endsWith('.gz'))
        .sort()
        .at(-1) ?? '';
    assert.notEqual(dump, '');
    // Is not in the dump, so that the other stack must have the balance of the dump.
    const later = await client.call('hash-text', { text: 'after the backup' });
    assert.equal(later.status, 200, later.text);
  });
  await client.compose(['down', '--timeout', '60'], UP_MS);

  await step('a dump and the secrets restore the service on another machine', async () => {
    await copyProject(target, `${PROJECT}-restored`);
    for (const name of ['secrets', `backups/${dump}`])
      await cp(join(folder, name), join(target, name), { recursive: true });
    assert.deepEqual(await prepare(target), []);
    deferCleanup(() => runCleanup('docker', ['compose', 'down', '--volumes', '--timeout', '20'], target));
    await restored.compose(['build'], BUILD_MS);
    await restored.compose(['up', '--detach', '--wait', 'mongodb'], UP_MS);
    const restore = 'docker compose exec -T mongodb bash /restore.sh < "backups/$0"';
    await restored.shell('sh', '-c', restore, dump);
    assert.deepEqual(await indexes(restored), indexesBefore);
    await restored.compose(['up', '--detach', '--wait'], UP_MS);
    await assertHealthy(restored);
  });

  await step(
    'the restored service has the balance of the dump, a clean audit, and answers calls',
    async () => {
      const audit = () => restored.compose(['exec', '-T', 'api', 'node', 'api/cli/audit.ts', '--json']);
      const first: { accounts: number; drift: unknown[] } = JSON.parse(await audit());
      assert.ok(first.accounts > 1);
      assert.deepEqual(first.drift, []);
      const { json } = await restored.account();
      assert.deepEqual(json, before);
      const result = await restored.call('hash-text', { text: 'restored' });
      assert.equal(result.status, 200, result.text);
      assert.equal(result.headers['x-credits-remaining'], String(Number(json.balance) - 1));
      assert.deepEqual(JSON.parse(await audit()).drift, []);
    },
  );
}
