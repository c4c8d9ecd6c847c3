import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  boolean,
  dnsServer,
  hostPort,
  integer,
  LOG_LEVELS,
  list,
  mailAddress,
  mongodbUri,
  oneOf,
  parseDuration,
  parseMasterKeys,
  port,
  rateLimit,
  retrySchedule,
  url,
  webUrl,
} from './envValues.ts';
import { parseAllow } from './formats/allow.ts';
import { parsePacks } from './formats/packs.ts';

/** A value that cannot be used; the message is one line that names the variable. */
export class EnvError extends Error {
  override readonly name = 'EnvError';
}

/** A variable: how its text becomes a value, what stands for it when it is not set, and its line in the README. */
interface Variable<T, D> {
  parse(text: string): T;
  fallback: D;
  /** Its value may also come from the file that `<NAME>_FILE` names, so that it is in no process list. */
  secret?: true;
  about: string;
}

const variable = <T, D>(definition: Variable<T, D>): Variable<T, D> => definition;

export const VARIABLES = {
  HOST: variable({ parse: String, fallback: '127.0.0.1', about: 'Address the API listens on.' }),
  PORT: variable({ parse: port, fallback: 8080, about: 'Port of the API; 0 picks a free one.' }),
  INTERNAL_PORT: variable({
    parse: port,
    fallback: 0,
    about:
      'Port for health checks and for the pools to fetch one-call secrets from; never expose it. 0 picks one.',
  }),
  SDK_METRICS_PORT: variable({
    parse: port,
    fallback: 0,
    about: "Port of loopback from which a worker reads its Temporal SDK's metrics. 0 picks one.",
  }),
  INTERNAL_ADVERTISE: variable({
    parse: (text) => `http://${hostPort(text)}`,
    fallback: null,
    about:
      "host:port under which the pools reach this API replica's internal port. Default: where it listens.",
  }),
  PUBLIC_URL: variable({
    parse: webUrl,
    fallback: null,
    about: 'Address users know the API by. Default: the one it listens on.',
  }),
  TRUST_PROXY: variable({
    parse: boolean,
    fallback: false,
    about: "Take the caller's address from X-Forwarded-For; only behind a proxy that sets it.",
  }),
  DATA_DIR: variable({
    parse: (text) => resolve(text),
    fallback: resolve('.data'),
    about: 'Folder of the local stack: databases, demo.json, the generated master key.',
  }),
  MONGODB_URI: variable({
    parse: mongodbUri,
    fallback: null,
    secret: true,
    about: 'Replica set and database to use instead of the local MongoDB.',
  }),
  TEMPORAL_ADDRESS: variable({
    parse: String,
    fallback: null,
    about: 'host:port of a Temporal server to use instead of the local one.',
  }),
  TEMPORAL_NAMESPACE: variable({ parse: String, fallback: 'default', about: 'Temporal namespace.' }),
  TEMPORAL_UI_URL: variable({
    parse: webUrl,
    fallback: null,
    about: 'Address of the Temporal UI, whose pages may read payloads through /codec. Default: none may.',
  }),
  MASTER_KEYS: variable({
    parse: parseMasterKeys,
    fallback: null,
    secret: true,
    about: '<id>:<base64 of 32 bytes>,… The first encrypts, all decrypt. Default: one made in DATA_DIR.',
  }),
  FREE_CREDITS: variable({
    parse: (text) => integer(text, 0, 1_000_000_000),
    fallback: 250,
    about: 'Credits a new account starts with.',
  }),
  RATE_LIMIT: variable({
    parse: rateLimit,
    fallback: { rate: 20, burst: 40 },
    about:
      'Calls a second an account and a key may make, rate[:burst]; off lifts every limit (not in production).',
  }),
  POOL_WAIT: variable({
    parse: parseDuration,
    fallback: 60_000,
    about: 'How long a call may wait for a free worker before it is answered pool_busy.',
  }),
  EGRESS_ALLOW: variable({
    parse: (text) => list(text).map(parseAllow),
    fallback: [],
    about:
      'host:port or CIDR exceptions to the egress guard, for operators who own the network. Empty by default.',
  }),
  OWN_PORTS: variable({
    parse: (text) => list(text).map(port),
    fallback: [],
    about:
      "More of our own ports, which EGRESS_ALLOW never opens: Temporal's HTTP API and inner services, its database.",
  }),
  DNS_SERVERS: variable({
    parse: (text) => list(text).map(dnsServer),
    fallback: null,
    about: 'address[:port],… of the resolvers to ask. Default: those of /etc/resolv.conf.',
  }),
  WEBHOOK_RETRY_SCHEDULE: variable({
    parse: retrySchedule,
    fallback: [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000],
    about: 'Waits between the attempts of a webhook delivery.',
  }),
  GOLD_FEED_URL: variable({
    parse: webUrl,
    fallback: 'https://api.gold-api.com',
    about: 'Base of the metal feed; /price/XAU and /price/XAG are asked.',
  }),
  FX_FEED_URL: variable({
    parse: webUrl,
    fallback: 'https://api.frankfurter.dev/v2/rates?base=USD',
    about: 'Feed of exchange rates, fetched as given.',
  }),
  CHROMIUM_PATH: variable({
    parse: String,
    fallback: null,
    about: 'Chromium to use instead of the one found.',
  }),
  CHROMIUM_UNCONFINED: variable({
    parse: boolean,
    fallback: false,
    about:
      'Run Chromium in production also where the kernel allows it no network namespace or no sandbox of its own.',
  }),
  FILTER_LISTS: variable({
    parse: String,
    fallback: null,
    about:
      "Folder of filter lists (*.txt) that name ads and trackers. Default: those of Debian's webext-ublock-origin-chromium.",
  }),
  SOFFICE_PATH: variable({
    parse: String,
    fallback: null,
    about: 'LibreOffice to use instead of the one found.',
  }),
  SMTP_URL: variable({
    parse: (text) => url(text, ['smtp:', 'smtps:']),
    fallback: null,
    secret: true,
    about:
      'Mail server, smtp://user:password@host:587 or smtps://…; new owners verify their address then. Default: no mail.',
  }),
  MAIL_FROM: variable({
    parse: mailAddress,
    fallback: null,
    about: 'Sender of that mail. Default: utility-tools at the host of PUBLIC_URL.',
  }),
  CREDIT_PACKS: variable({
    parse: (text) => parsePacks(list(text)),
    fallback: [
      { credits: 1000, amount: 900, currency: 'USD' },
      { credits: 5000, amount: 3900, currency: 'USD' },
      { credits: 25_000, amount: 16_900, currency: 'USD' },
    ],
    about: 'credits:price,… on sale, in a currency with two decimals, or off.',
  }),
  STRIPE_SECRET_KEY: variable({
    parse: String,
    fallback: null,
    secret: true,
    about: 'Sells credits by Stripe. Default: a test checkout that takes no money; in production none.',
  }),
  STRIPE_WEBHOOK_SECRET: variable({
    parse: String,
    fallback: null,
    secret: true,
    about: 'Signing secret of the webhook endpoint at Stripe; goes with STRIPE_SECRET_KEY.',
  }),
  STRIPE_API_URL: variable({
    parse: webUrl,
    fallback: 'https://api.stripe.com',
    about: "Stripe's API; another address is for tests.",
  }),
  LOG_LEVEL: variable({
    parse: oneOf(LOG_LEVELS),
    fallback: 'info',
    about: `One of ${LOG_LEVELS.join(', ')}.`,
  }),
  NODE_ENV: variable({
    parse: oneOf(['development', 'test', 'production']),
    fallback: 'development',
    about: 'production refuses RATE_LIMIT=off and the test checkout.',
  }),
};

type Variables = typeof VARIABLES;
export type Env = {
  [Name in keyof Variables]: ReturnType<Variables[Name]['parse']> | Variables[Name]['fallback'];
};

function read<T, D>(name: string, definition: Variable<T, D>, source: NodeJS.ProcessEnv): T | D {
  let text = source[name];
  const file = source[`${name}_FILE`];
  if (definition.secret && (text === undefined || text === '') && file !== undefined && file !== '') {
    try {
      text = readFileSync(file, 'utf8').trim();
    } catch (error) {
      throw new EnvError(`${name}_FILE: cannot read it`, { cause: error });
    }
  }
  if (text === undefined || text === '') return definition.fallback;
  try {
    return definition.parse(text);
  } catch (error) {
    throw new EnvError(`${name}: ${error instanceof Error ? error.message : 'bad value'}`, { cause: error });
  }
}

/**
 * Reads and checks the environment, the only place that does.
 *
 * @throws EnvError with one line that names the variable
 */
export function readEnv(source: NodeJS.ProcessEnv = process.env): Env {
  const v = VARIABLES;
  const env: Env = {
    HOST: read('HOST', v.HOST, source),
    PORT: read('PORT', v.PORT, source),
    INTERNAL_PORT: read('INTERNAL_PORT', v.INTERNAL_PORT, source),
    SDK_METRICS_PORT: read('SDK_METRICS_PORT', v.SDK_METRICS_PORT, source),
    INTERNAL_ADVERTISE: read('INTERNAL_ADVERTISE', v.INTERNAL_ADVERTISE, source),
    PUBLIC_URL: read('PUBLIC_URL', v.PUBLIC_URL, source),
    TRUST_PROXY: read('TRUST_PROXY', v.TRUST_PROXY, source),
    DATA_DIR: read('DATA_DIR', v.DATA_DIR, source),
    MONGODB_URI: read('MONGODB_URI', v.MONGODB_URI, source),
    TEMPORAL_ADDRESS: read('TEMPORAL_ADDRESS', v.TEMPORAL_ADDRESS, source),
    TEMPORAL_NAMESPACE: read('TEMPORAL_NAMESPACE', v.TEMPORAL_NAMESPACE, source),
    TEMPORAL_UI_URL: read('TEMPORAL_UI_URL', v.TEMPORAL_UI_URL, source),
    MASTER_KEYS: read('MASTER_KEYS', v.MASTER_KEYS, source),
    FREE_CREDITS: read('FREE_CREDITS', v.FREE_CREDITS, source),
    RATE_LIMIT: read('RATE_LIMIT', v.RATE_LIMIT, source),
    POOL_WAIT: read('POOL_WAIT', v.POOL_WAIT, source),
    EGRESS_ALLOW: read('EGRESS_ALLOW', v.EGRESS_ALLOW, source),
    OWN_PORTS: read('OWN_PORTS', v.OWN_PORTS, source),
    DNS_SERVERS: read('DNS_SERVERS', v.DNS_SERVERS, source),
    WEBHOOK_RETRY_SCHEDULE: read('WEBHOOK_RETRY_SCHEDULE', v.WEBHOOK_RETRY_SCHEDULE, source),
    GOLD_FEED_URL: read('GOLD_FEED_URL', v.GOLD_FEED_URL, source),
    FX_FEED_URL: read('FX_FEED_URL', v.FX_FEED_URL, source),
    CHROMIUM_PATH: read('CHROMIUM_PATH', v.CHROMIUM_PATH, source),
    CHROMIUM_UNCONFINED: read('CHROMIUM_UNCONFINED', v.CHROMIUM_UNCONFINED, source),
    FILTER_LISTS: read('FILTER_LISTS', v.FILTER_LISTS, source),
    SOFFICE_PATH: read('SOFFICE_PATH', v.SOFFICE_PATH, source),
    SMTP_URL: read('SMTP_URL', v.SMTP_URL, source),
    MAIL_FROM: read('MAIL_FROM', v.MAIL_FROM, source),
    CREDIT_PACKS: read('CREDIT_PACKS', v.CREDIT_PACKS, source),
    STRIPE_SECRET_KEY: read('STRIPE_SECRET_KEY', v.STRIPE_SECRET_KEY, source),
    STRIPE_WEBHOOK_SECRET: read('STRIPE_WEBHOOK_SECRET', v.STRIPE_WEBHOOK_SECRET, source),
    STRIPE_API_URL: read('STRIPE_API_URL', v.STRIPE_API_URL, source),
    LOG_LEVEL: read('LOG_LEVEL', v.LOG_LEVEL, source),
    NODE_ENV: read('NODE_ENV', v.NODE_ENV, source),
  };
  if (env.PORT !== 0 && env.PORT === env.INTERNAL_PORT)
    throw new EnvError('INTERNAL_PORT: is that of PORT; set another, or 0 for any');
  if (env.NODE_ENV === 'production' && env.RATE_LIMIT === null)
    throw new EnvError('RATE_LIMIT: off is not for production');
  // Without the one nobody can pay, without the other nobody gets what they paid for.
  if ((env.STRIPE_SECRET_KEY === null) !== (env.STRIPE_WEBHOOK_SECRET === null))
    throw new EnvError('STRIPE_SECRET_KEY: goes with STRIPE_WEBHOOK_SECRET; set both or neither');
  return env;
}
