import { startOwnServers, startStack } from '../helpers/stack.ts';
import { startPages } from './browser.ts';
import { startTarget } from './network.ts';
import type { Subjects } from './sections.ts';

/** Starts what the sections measure. @param owned stops it */
export async function startSubjects(owned: AsyncDisposableStack): Promise<Subjects> {
  const servers = owned.adopt(await startOwnServers(), (it) => it.stop());
  const target = owned.use(await startTarget());
  const pages = owned.adopt(await startPages(), (it) => it.close());
  const env = {
    LOG_LEVEL: 'warn',
    ...target.env,
    EGRESS_ALLOW: `${target.env.EGRESS_ALLOW},127.0.0.1:${pages.port}`,
  };
  const stack = owned.adopt(await startStack({ servers, env }), (it) => it.stop());
  return { stack, servers, target, pages };
}
