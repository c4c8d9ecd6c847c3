import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { drain, listen } from '../../platform/listen.ts';

/** A payment that the provider has made. */
export interface ProviderPayment {
  id: string;
  amount: number;
  currency: string;
  status: 'succeeded' | 'requires_action' | 'canceled';
  metadata: Record<string, string>;
}

/**
 * A stand-in of the payment provider for payment tokens. As the real one, it charges a token once, repeats its response to a
 * repeated idempotency key, and refuses a key with other parameters. The token decides the outcome: `spt_declined…`,
 * `spt_action…`, or else success.
 */
export interface TokenProvider {
  url: string;
  payments: ProviderPayment[];
  /** Number of requests for payments, repeated ones included. */
  requests: number;
  /** The next payment is made, and its response is held until `release`. Resolves when the payment is made. */
  holdNext(): Promise<{ payment: ProviderPayment; release(): void }>;
  /** Responds to the next request with this status and type of error, and makes no payment. */
  failNext(status: number, type?: string): void;
  stop(): Promise<void>;
}

type Reply = [status: number, body: object];

/** @param about what the message quotes, such as the token */
const errorOf = (type: string, code: string, about = ''): object => ({
  error: { type, code, message: `${code} ${about}` },
});

export async function startTokenProvider(): Promise<TokenProvider> {
  const payments: ProviderPayment[] = [];
  const used = new Set<string>();
  const replies = new Map<string, { parameters: string; reply: Reply }>();
  const failures: Reply[] = [];
  let hold: PromiseWithResolvers<{ payment: ProviderPayment; release(): void }> | null = null;

  function pay(form: URLSearchParams): { reply: Reply; payment: ProviderPayment | null } {
    const token = form.get('shared_payment_granted_token') ?? '';
    if (used.has(token))
      return { reply: [400, errorOf('invalid_request_error', 'token_consumed', token)], payment: null };
    if (token.startsWith('spt_declined'))
      return { reply: [402, errorOf('card_error', 'card_declined', token)], payment: null };
    used.add(token);
    const metadata = [...form].flatMap(([name, value]) => {
      const [, key] = /^metadata\[(\w+)\]$/.exec(name) ?? [];
      return key === undefined ? [] : [[key, value] as const];
    });
    const payment: ProviderPayment = {
      id: `pi_${randomUUID().replaceAll('-', '')}`,
      amount: Number(form.get('amount')),
      currency: form.get('currency') ?? '',
      status: token.startsWith('spt_action') ? 'requires_action' : 'succeeded',
      metadata: Object.fromEntries(metadata),
    };
    payments.push(payment);
    return { reply: [200, intentOf(payment)], payment };
  }

  const provider = { requests: 0 };
  const server = createServer(async (request, response) => {
    const body = (await buffer(request)).toString();
    const send = ([status, value]: Reply) =>
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
    const [, cancelled] = /^\/v1\/payment_intents\/(\w+)\/cancel$/.exec(request.url ?? '') ?? [];
    if (cancelled !== undefined) {
      const payment = payments.find(({ id }) => id === cancelled);
      if (payment === undefined) return send([404, errorOf('invalid_request_error', 'resource_missing')]);
      payment.status = 'canceled';
      return send([200, intentOf(payment)]);
    }
    provider.requests += 1;
    const failure = failures.shift();
    if (failure !== undefined) return send(failure);
    const key = String(request.headers['idempotency-key']);
    const known = replies.get(key);
    if (known !== undefined)
      return send(
        known.parameters === body ? known.reply : [400, errorOf('idempotency_error', 'other_parameters')],
      );
    const { reply, payment } = pay(new URLSearchParams(body));
    replies.set(key, { parameters: body, reply });
    if (hold === null || payment === null) return send(reply);
    hold.resolve({ payment, release: () => void send(reply) });
    hold = null;
  });
  const url = await listen(server, '127.0.0.1', 0);
  return {
    url,
    payments,
    get requests() {
      return provider.requests;
    },
    holdNext() {
      hold = Promise.withResolvers();
      return hold.promise;
    },
    failNext: (status, type = 'api_error') => void failures.push([status, errorOf(type, 'unavailable')]),
    async stop() {
      server.closeAllConnections();
      await drain(server);
    },
  };
}

/** A payment as the provider describes it. */
export const intentOf = ({ id, amount, currency, status, metadata }: ProviderPayment): object => ({
  id,
  object: 'payment_intent',
  amount,
  amount_received: status === 'succeeded' ? amount : 0,
  currency,
  status,
  livemode: false,
  metadata,
});
