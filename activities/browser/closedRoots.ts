import type { CDPSession } from 'puppeteer';
import type { IsolatedWorld } from './isolatedWorld.ts';
import { rememberClosedRoot } from './page/elements.ts';
import { tryFor } from './tryFor.ts';

/** Pages with more elements are not searched: the snapshot of the document would take seconds. */
const MAX_ELEMENTS = 50_000;
const MAX_ROOTS = 500;
const ANSWER_MS = 3_000;

/** Type of a node that is a shadow root (DOM Standard, `Node.DOCUMENT_FRAGMENT_NODE`). */
const FRAGMENT = 11;

/**
 * Returns ids of nodes of each document of a DevTools session, the main one first: one of each closed shadow root at least, which no
 * script outside the component can reach. Depending on its version, Chromium lists the root itself, or marks the nodes in it.
 */
async function idsInClosedRoots(client: CDPSession): Promise<number[][]> {
  const { documents, strings } = await client.send('DOMSnapshot.captureSnapshot', { computedStyles: [] });
  return documents.map(
    ({ nodes: { shadowRootType, backendNodeId = [], nodeType = [], parentIndex = [] } }) => {
      const { index = [], value = [] } = shadowRootType ?? {};
      const closed = index.filter((_, at) => strings[value[at] ?? -1] === 'closed');
      const firstOfParent = new Map(closed.toReversed().map((node) => [parentIndex[node], node]));
      const roots = nodeType.flatMap((type, node) => (type === FRAGMENT ? [node] : []));
      return [...roots, ...[...firstOfParent.values()].reverse()].flatMap(
        (node) => backendNodeId[node] ?? [],
      );
    },
  );
}

/** Makes the closed shadow roots of a page known to the functions that run in its isolated world. */
export async function findClosedRoots(client: CDPSession, world: IsolatedWorld): Promise<void> {
  const count = await tryFor(
    world.evaluate(() => document.getElementsByTagName('*').length),
    ANSWER_MS,
  );
  if (count === undefined || count > MAX_ELEMENTS) return;
  const until = Date.now() + ANSWER_MS;
  const [ids = []] = (await tryFor(idsInClosedRoots(client), ANSWER_MS)) ?? [];
  const known = Promise.all(ids.slice(0, MAX_ROOTS).map((id) => world.evaluateOn(id, rememberClosedRoot)));
  await tryFor(known, until - Date.now());
}

/** Makes the closed shadow roots in the documents of a DevTools session known to functions that run in the world of the page's scripts. */
async function findRootsIn(session: CDPSession): Promise<void> {
  const ids = (await idsInClosedRoots(session)).flat().slice(0, MAX_ROOTS);
  const remember = async (backendNodeId: number) => {
    const { object } = await session.send('DOM.resolveNode', { backendNodeId });
    const { objectId } = object;
    if (objectId !== undefined)
      await session.send('Runtime.callFunctionOn', {
        functionDeclaration: String(rememberClosedRoot),
        objectId,
      });
  };
  await Promise.allSettled(ids.map(remember));
}

/** Makes the closed shadow roots in the frames of a page, also in those of other origins, known as `findRootsIn` does. */
export async function findRootsOfFrames(client: CDPSession): Promise<void> {
  const sessions = [client];
  // Frames of other origins have processes and sessions of their own.
  const add = ({ sessionId }: { sessionId: string }) => {
    const session = client.connection()?.session(sessionId) ?? null;
    if (session !== null) sessions.push(session);
  };
  const attach = (autoAttach: boolean) =>
    tryFor(
      client.send('Target.setAutoAttach', { autoAttach, waitForDebuggerOnStart: false, flatten: true }),
      ANSWER_MS,
    );
  client.on('Target.attachedToTarget', add);
  await attach(true);
  await Promise.all(sessions.map((session) => tryFor(findRootsIn(session), ANSWER_MS)));
  client.off('Target.attachedToTarget', add);
  await attach(false);
}
