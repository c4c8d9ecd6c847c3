import test from 'ava';
import { startDatabase } from '../helpers/stack.ts';
import { startTemporalCluster, TEMPORAL_SERVICES } from '../helpers/temporal/cluster.ts';
import { surviveFailovers } from './failover.ts';

test('when a process of Temporal fails, no credit is lost or charged twice and calls succeed again', async (t) => {
  await using open = new AsyncDisposableStack();
  const { mongodbUri } = open.adopt(await startDatabase(), (it) => it.stop());
  const { temporalAddress, processes } = await startTemporalCluster(open, (line) => t.log(line));
  await surviveFailovers(t, open, { mongodbUri, temporalAddress }, (round) =>
    TEMPORAL_SERVICES.map((service) => {
      const killed = processes[service][round % processes[service].length];
      return {
        name: `a ${service} process of Temporal is killed`,
        begin: async () => killed?.kill('SIGKILL'),
        end: async () => {
          await killed?.start();
        },
      };
    }),
  );
});
