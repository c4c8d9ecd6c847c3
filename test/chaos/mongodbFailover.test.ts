import test from 'ava';
import { type Member, startReplicaSet } from '../helpers/replicaSet.ts';
import { startNamespace } from '../helpers/stack.ts';
import { surviveFailovers } from './failover.ts';
import type { Fault } from './faults.ts';

test('when the primary of MongoDB fails, no credit is lost or charged twice and calls succeed again', async (t) => {
  await using open = new AsyncDisposableStack();
  const { temporalAddress } = open.adopt(await startNamespace(), (it) => it.stop());
  const { mongodbUri, whole } = await startReplicaSet(open, (line) => t.log(line));

  /** A fault of the member that is the primary when the fault begins. */
  const fault = (
    name: string,
    begin: (primary: Member) => Promise<unknown>,
    end: (primary: Member) => Promise<unknown>,
  ): Fault => {
    let failed: Member | null = null;
    return {
      name: `the primary of MongoDB is ${name}`,
      async begin() {
        failed = await whole();
        await begin(failed);
      },
      async end() {
        if (failed !== null) await end(failed);
        t.not(await whole(), failed, `${name}: another member has become the primary`);
      },
    };
  };
  const killed = fault(
    'killed',
    ({ mongod }) => mongod.kill('SIGKILL'),
    ({ mongod }) => mongod.start(),
  );
  const isolated = fault(
    'isolated',
    ({ machine }) => machine.isolate(),
    ({ machine }) => machine.reconnect(),
  );
  // For some seconds the old primary still accepts writes, which no majority can acknowledge.
  const separated = fault(
    'separated from the other members',
    ({ machine }) => machine.separate(),
    ({ machine }) => machine.reconnect(),
  );
  await surviveFailovers(t, open, { mongodbUri, temporalAddress }, (round) => [
    killed,
    round % 2 === 0 ? isolated : separated,
  ]);
});
