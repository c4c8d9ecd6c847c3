import test from 'ava';
import { openStore } from '../../store/mongo.ts';
import { startDatabase } from '../helpers/stack.ts';

test('options of the connection string do not weaken the concerns', async (t) => {
  await using open = new AsyncDisposableStack();
  const { mongodbUri } = open.adopt(await startDatabase(), (it) => it.stop());
  const url = new URL(mongodbUri);
  for (const [name, value] of [
    ['w', '1'],
    ['journal', 'false'],
    ['wTimeoutMS', '1'],
    ['readConcernLevel', 'local'],
    ['readPreference', 'secondaryPreferred'],
    ['retryWrites', 'false'],
    ['appName', 'kept'],
  ] as const)
    url.searchParams.set(name, value);
  const { client } = open.adopt(await openStore(url.href), (it) => it.close());
  const { writeConcern, readConcern, readPreference, retryWrites, appName, replicaSet } = client.options;
  t.is(writeConcern?.w, 'majority');
  t.true(writeConcern?.journal);
  t.is(writeConcern?.wtimeoutMS, undefined);
  t.is(readConcern?.level, 'majority');
  t.is(readPreference.mode, 'primary');
  t.true(retryWrites);
  t.is(appName, 'kept');
  t.truthy(replicaSet);
});
