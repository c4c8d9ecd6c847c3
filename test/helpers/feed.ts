import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { freePort } from '../../dev/ports.ts';
import { CURRENCIES } from '../../schemas/tools/gold-price.ts';

/** The response for a path: a value that is sent as JSON, or a function that handles the request. */
export type Answer = object | ((request: IncomingMessage, response: ServerResponse) => void);

/**
 * A server on loopback in place of the gold price and exchange rate feeds. It can return faulty values or be
 * unavailable.
 */
export interface Feed {
  port: number;
  /** Environment variables that make the service use this server. */
  env: { GOLD_FEED_URL: string; FX_FEED_URL: string };
  /** Requested paths, in order. */
  requested: string[];
  /** The largest number of requests that one path had open at the same time. */
  mostAtOnce(): number;
  /** Sets the response of a path. */
  answer(path: string, answer: Answer): void;
  /** Stops listening and breaks open connections. */
  stop(): Promise<void>;
  /** Listens again on the same port. */
  restart(): Promise<void>;
  close(): void;
}

export const GOLD = '/price/XAU';
export const SILVER = '/price/XAG';
export const FX = '/v2/rates?base=USD';

const minuteAgo = (): string => new Date(Date.now() - 60_000).toISOString();

/** A response in the format of gold-api.com. */
export const metalAnswer = (symbol: string, price: unknown, updatedAt: unknown = minuteAgo()) => ({
  currency: 'USD',
  currencySymbol: '$',
  exchangeRate: 1,
  name: symbol === 'XAU' ? 'Gold' : 'Silver',
  price,
  symbol,
  updatedAt,
  updatedAtReadable: 'a minute ago',
});

/** A response in the format of api.frankfurter.dev/v2, with one currency that the service does not offer. */
export const ratesAnswer = (rateOf: (currency: string) => unknown, date: unknown = '2025-01-15') =>
  [...CURRENCIES.filter((currency) => currency !== 'USD'), 'VND'].map((quote) => ({
    date,
    base: 'USD',
    quote,
    rate: rateOf(quote),
  }));

export async function startFeed(): Promise<Feed> {
  const answers = new Map<string, Answer>([
    [GOLD, metalAnswer('XAU', 2700.5)],
    [SILVER, metalAnswer('XAG', 31.25)],
    [FX, ratesAnswer(() => 0.96)],
  ]);
  const requested: string[] = [];
  const open = new Map<string, number>();
  let most = 0;
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    requested.push(path);
    const now = (open.get(path) ?? 0) + 1;
    open.set(path, now);
    most = Math.max(most, now);
    response.on('close', () => open.set(path, (open.get(path) ?? 1) - 1));
    const answer = answers.get(path);
    if (answer === undefined) response.writeHead(404).end();
    else if (typeof answer === 'function') answer(request, response);
    else response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answer));
  });
  // No outgoing connection can take this port while the feed is stopped.
  const port = await freePort();
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return {
    port,
    env: { GOLD_FEED_URL: `http://127.0.0.1:${port}`, FX_FEED_URL: `http://127.0.0.1:${port}${FX}` },
    requested,
    mostAtOnce: () => most,
    answer(path, answer) {
      answers.set(path, answer);
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
    async restart() {
      await once(server.listen(port, '127.0.0.1'), 'listening');
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
