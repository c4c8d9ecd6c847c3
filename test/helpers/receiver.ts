import { createServer, type IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from './egress.ts';

/** A webhook delivery that the receiver got. */
export interface Delivery {
  at: number;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** Id and type of the event, from the body. */
  id: string;
  event: string;
}

/** The receiver's response to a delivery; null means that it never responds. */
export type Answer = {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  afterMs?: number;
} | null;

/** A webhook receiver on loopback. */
export interface Receiver {
  port: number;
  /** URL at which the receiver accepts deliveries; its path is /hook. */
  url: string;
  received: Delivery[];
  /** The largest number of deliveries that were open at the same time. */
  mostAtOnce(): number;
  /** Sets how the receiver responds to deliveries from now on. */
  answer(how: (delivery: Delivery) => Answer): void;
  /** Calls `tell` for each delivery that arrives from now on. */
  watch(tell: (delivery: Delivery) => void): void;
  /** Resolves when this many deliveries have arrived. @throws when they do not arrive in time */
  until(count: number, withinMs?: number): Promise<Delivery[]>;
  close(): void;
}

const POLL_INTERVAL_MS = 20;

export async function startReceiver(): Promise<Receiver> {
  const received: Delivery[] = [];
  let how: (delivery: Delivery) => Answer = () => ({});
  const watchers: ((delivery: Delivery) => void)[] = [];
  let open = 0;
  let most = 0;
  const server = createServer(async (request, response) => {
    open += 1;
    most = Math.max(most, open);
    response.once('close', () => {
      open -= 1;
    });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const { id, event }: { id: string; event: string } = JSON.parse(body);
    const delivery = { at: Date.now(), path: request.url ?? '', headers: request.headers, body, id, event };
    received.push(delivery);
    for (const tell of watchers) tell(delivery);
    const answer = how(delivery);
    if (answer === null) return;
    if (answer.afterMs !== undefined) await sleep(answer.afterMs);
    response.writeHead(answer.status ?? 200, answer.headers ?? {}).end(answer.body ?? '');
  });
  const port = await listen(server);
  return {
    port,
    url: `http://localhost:${port}/hook`,
    received,
    mostAtOnce: () => most,
    answer(next) {
      how = next;
    },
    watch(tell) {
      watchers.push(tell);
    },
    async until(count, withinMs = 90_000) {
      for (const end = Date.now() + withinMs; received.length < count; await sleep(POLL_INTERVAL_MS))
        if (Date.now() > end) throw new Error(`${received.length} of ${count} deliveries came`);
      return received;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
