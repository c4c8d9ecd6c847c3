import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readEnv } from '../../schemas/env.ts';
import { generateSigningSecret, signatureHeaders } from '../../schemas/webhookSignature.ts';
import { CommandError } from './addresses.ts';
import { parseOptions, UsageError } from './arguments.ts';
import { createEventFeed, type ListedEvent } from './eventFeed.ts';
import { runCli } from './run.ts';

const HELP = `Usage: npm run -s listen -- --forward URL [options]

Prints the events of an account as they occur. Each event is signed and posted once to a program on this machine.

Options:
  --forward URL    URL to which events are posted, such as http://localhost:3000/hook. Required.
  --url URL        URL of the API. Default: that of the local stack in DATA_DIR.
  --key KEY        API key with the scope "account". Default: that of the local stack in DATA_DIR.
  --secret SECRET  Signing secret, such as that of a webhook endpoint on localhost. Default: a new one, which is printed.
  --help           Print this help.
`;
const OPTIONS = {
  forward: { value: 'URL', about: 'URL to which events are posted.', required: true },
  url: { value: 'URL', about: 'URL of the API.' },
  key: { value: 'KEY', about: 'API key with the scope "account".' },
  secret: { value: 'SECRET', about: 'Signing secret.' },
} as const;

const POLL_MS = 1000;
const RETRY_MS = 3000;
/** Timeout of one request in milliseconds; the same as for webhook deliveries. */
const RESPONSE_MS = 10_000;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

async function localStack(): Promise<{ baseUrl?: string; accountKey?: string }> {
  const { DATA_DIR } = readEnv();
  return readFile(join(DATA_DIR, 'demo.json'), 'utf8').then(JSON.parse, () => ({}));
}

function webUrl(name: string, text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new UsageError(`--${name} must be an http or https URL, not ${JSON.stringify(text)}`);
  return text.replace(/\/$/, name === 'url' ? '' : '/');
}

/** Posts an event in the same form as a webhook delivery. @returns the status code or an error message */
async function forward(event: ListedEvent, to: string, secret: string, stop: AbortSignal): Promise<string> {
  const { id, event: kind, data } = event;
  const createdAt = event.createdAt.replace('Z', '+00:00');
  const body = JSON.stringify({ id, event: kind, createdAt, data });
  const timestamp = Math.floor(Date.now() / 1000);
  const signed = signatureHeaders({ id, event: kind, body, timestamp }, { own: secret, all: [secret] });
  try {
    const response = await fetch(to, {
      method: 'POST',
      headers: [['Content-Type', 'application/json'], ...signed],
      body,
      redirect: 'manual',
      signal: AbortSignal.any([stop, AbortSignal.timeout(RESPONSE_MS)]),
    });
    await response.body?.cancel();
    return `${response.status}`;
  } catch (error) {
    if (stop.aborted) throw error;
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    return cause instanceof Error ? cause.message : 'failed';
  }
}

async function listen(args: readonly string[], stop: AbortSignal): Promise<void> {
  const values = parseOptions(args, OPTIONS);
  const to = webUrl('forward', values.text('forward'));
  const local = await localStack();
  const baseUrl = values.optional('url') ?? local.baseUrl;
  const key = values.optional('key') ?? local.accountKey;
  if (baseUrl === undefined || key === undefined)
    throw new UsageError('no stack runs in DATA_DIR: start one with npm start, or set --url and --key');
  const secret = values.optional('secret') ?? generateSigningSecret();
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret))
    throw new UsageError('--secret must be whsec_ followed by base64');

  const feed = createEventFeed(webUrl('url', baseUrl), key);
  await feed.next(stop);
  print(`Forwarding events to ${to}, signed with ${secret}`);
  while (!stop.aborted) {
    try {
      for (const event of await feed.next(stop))
        print(`${event.createdAt}  ${event.event}  ${event.id}  ${await forward(event, to, secret, stop)}`);
      await sleep(POLL_MS, undefined, { signal: stop });
    } catch (error) {
      if (stop.aborted) return;
      if (error instanceof CommandError) throw error;
      process.stderr.write(`${baseUrl} is unreachable; retrying\n`);
      await sleep(RETRY_MS);
    }
  }
}

await runCli(async () => {
  const args = process.argv.slice(2);
  if (args.includes('--help')) return { help: HELP };
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  await listen(args, stop.signal);
  return { help: '' };
});
