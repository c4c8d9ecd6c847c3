import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  boolean,
  buildId,
  dnsServer,
  headerList,
  hostPort,
  integer,
  LOG_LEVELS,
  line,
  list,
  mailAddress,
  mongodbUri,
  networkId,
  oneOf,
  operatorText,
  parseDuration,
  parseMasterKeys,
  percentage,
  port,
  rateLimit,
  ratio,
  retrySchedule,
  url,
  urlsByName,
  vatId,
  webUrl,
} from './envValues.ts';
import { parseAllow } from './formats/allow.ts';
import { parsePacks } from './formats/packs.ts';

/** An environment variable has an invalid value. The message is one line that names the variable. */
export class EnvError extends Error {
  override readonly name = 'EnvError';
}

/** An environment variable: its parser, its default and its row in docs/configuration.md (`npm run docs`). */
interface Variable<T, D> {
  parse(text: string): T;
  /** Value if the variable is unset or empty; null: no value. */
  fallback: D;
  /** The default in the format of the variable, if that differs from `String(fallback)`. */
  fallbackText?: string;
  /**
   * Whether the value can also come from the file that `<NAME>_FILE` names, so that it does not appear in the
   * environment of the process.
   */
  secret?: true;
  /** Description for the documentation, in Markdown. */
  about: string;
}

const variable = <T, D>(definition: Variable<T, D>): Variable<T, D> => definition;

export const VARIABLES = {
  HOST: variable({
    parse: String,
    fallback: '127.0.0.1',
    about: 'Address on which the API and the internal ports listen.',
  }),
  PORT: variable({ parse: port, fallback: 8080, about: 'Port of the API. `0` picks a free port.' }),
  INTERNAL_PORT: variable({
    parse: port,
    fallback: 0,
    about:
      'Port of each process for health checks and metrics. From that of the API, workers also fetch the secret fields of running calls. Never make it public. `0` picks a free port.',
  }),
  SDK_METRICS_PORT: variable({
    parse: port,
    fallback: 0,
    about:
      'Loopback port on which the Temporal SDK of a worker serves its metrics; the worker includes them in its own metrics. `0` picks a free port.',
  }),
  INTERNAL_ADVERTISE: variable({
    parse: (text) => `http://${hostPort(text)}`,
    fallback: null,
    about:
      '`host:port` at which workers reach the internal port of this API process. Default: the address on which the port listens.',
  }),
  FAST_LANE_URLS: variable({
    parse: urlsByName,
    fallback: new Map<string, string>(),
    fallbackText: '',
    about:
      'Internal URLs of the workers of the pools that have a lane for fast tools, as `cpu=http://host:port`, separated by commas. The API gives the calls of these tools to the workers directly. Without it, or if no worker answers, the orchestrator runs them as all others, with more CPU time for each call.',
  }),
  PUBLIC_URL: variable({
    parse: webUrl,
    fallback: null,
    about:
      'URL at which users reach the API. Default: the address on which the API listens. Users can sign in with passkeys if it is an HTTPS URL with a host name; a passkey works only with the host name for which it was created.',
  }),
  TRUST_PROXY: variable({
    parse: boolean,
    fallback: false,
    about:
      'Whether the address of a client is taken from `X-Forwarded-For`. Enable it only behind a proxy that replaces this header: the first address in it counts, also for the allowed networks of API keys.',
  }),
  OPERATOR_TWO_FACTOR: variable({
    parse: boolean,
    fallback: false,
    about:
      'Whether operators need two-factor authentication: without it they can use the dashboard only like owners.',
  }),
  DATA_DIR: variable({
    parse: (text) => resolve(text),
    fallback: resolve('.data'),
    fallbackText: '.data',
    about: 'Directory of the local stack: databases, `demo.json` and the generated master key.',
  }),
  MONGODB_URI: variable({
    parse: mongodbUri,
    fallback: null,
    secret: true,
    about:
      'Connection string of the MongoDB replica set, with the name of the database. Default: `npm start` runs a local MongoDB.',
  }),
  TEMPORAL_ADDRESS: variable({
    parse: String,
    fallback: null,
    about: '`host:port` of the Temporal server. Default: `npm start` runs a local Temporal server.',
  }),
  TEMPORAL_NAMESPACE: variable({ parse: String, fallback: 'default', about: 'Temporal namespace.' }),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: variable({
    parse: String,
    fallback: null,
    about:
      'PEM file with the CA certificates that may sign the certificate of the Temporal server. Connects with TLS. Default: the public CAs, if a client certificate is set; else no TLS.',
  }),
  TEMPORAL_TLS_CLIENT_CERT_PATH: variable({
    parse: String,
    fallback: null,
    about: 'PEM file with the client certificate for Temporal (mutual TLS). Default: no client certificate.',
  }),
  TEMPORAL_TLS_CLIENT_KEY_PATH: variable({
    parse: String,
    fallback: null,
    about: 'PEM file with the private key of the client certificate.',
  }),
  TEMPORAL_TLS_SERVER_NAME: variable({
    parse: String,
    fallback: null,
    about:
      'Name that the certificate of the Temporal server must have. Default: the host of `TEMPORAL_ADDRESS`.',
  }),
  BUILD_ID: variable({
    parse: buildId,
    fallback: null,
    about:
      'Build id of an orchestrator, for worker versioning: running calls stay on the build on which they started. Set a new one for each version of the code. Default: no worker versioning.',
  }),
  TEMPORAL_UI_URL: variable({
    parse: webUrl,
    fallback: null,
    about:
      'URL of the Temporal UI, whose pages may then decrypt payloads through `/codec`. Default: no page may decrypt payloads.',
  }),
  MASTER_KEYS: variable({
    parse: parseMasterKeys,
    fallback: null,
    secret: true,
    about:
      'Encryption keys, `<id>:<base64 of 32 bytes>,…`. The first key encrypts, every key decrypts. Default: a key generated in `DATA_DIR`.',
  }),
  FREE_CREDITS: variable({
    parse: (text) => integer(text, 0, 1_000_000_000),
    fallback: 250,
    about: 'Credits that a new account gets.',
  }),
  TRIAL_CREDITS: variable({
    parse: (text) => integer(text, 0, 1_000_000_000),
    fallback: 1000,
    about:
      'Credits per day (UTC) for calls that visitors of the landing page make without an account. `0` removes the forms.',
  }),
  RATE_LIMIT: variable({
    parse: rateLimit,
    fallback: { rate: 20, burst: 40 },
    fallbackText: '20:40',
    about:
      'Rate limit of each account and of each key in requests per second, `rate[:burst]`; without a burst, it is twice the rate. `off` disables every limit and is refused in production.',
  }),
  POOL_WAIT: variable({
    parse: parseDuration,
    fallback: 65_000,
    fallbackText: '65s',
    about:
      'Maximum time a call waits for a free worker before it fails with `pool_busy`. The default is longer than the longest call of any tool.',
  }),
  CALLS_PER_POOL: variable({
    parse: (text) => integer(text, 1, 100_000),
    fallback: 128,
    about:
      'Maximum number of calls of each pool that one API process runs at the same time. Further calls wait in the process; a free slot goes to the account that runs the fewest calls, and a quarter of the slots only to accounts that run none. All API processes together need at least as many places as the pool has slots. No limit with `RATE_LIMIT=off`.',
  }),
  CONNECTIONS_PER_ADDRESS: variable({
    parse: (text) => integer(text, 1, 20_000),
    fallback: 1000,
    about:
      'Maximum number of connections of one client address to an API process; for a further one, the longest idle connection of the address is closed. With `TRUST_PROXY`, it is the maximum number of requests of an address that are in progress, and the connections of the proxy are not limited. No limit with `RATE_LIMIT=off`.',
  }),
  WORKER_SLOTS: variable({
    parse: (text) => integer(text, 1, 1000),
    fallback: null,
    about:
      'Number of calls that a tool worker runs at the same time in each of two lanes: one for accounts that run no other call in the pool (at least 2), one for those that run others. Default: by pool and cores.',
  }),
  EGRESS_ALLOW: variable({
    parse: (text) => list(text).map(parseAllow),
    fallback: [],
    fallbackText: '',
    about:
      'Exceptions to the egress guard: targets that are reachable although they are not public, as `host:port` or CIDR block, separated by commas. They apply to every caller.',
  }),
  GATEWAY_URL: variable({
    parse: webUrl,
    fallback: null,
    about:
      'URL of the gateway through which a tool worker reaches targets and stores large results, so that the worker needs no access to MongoDB or the Internet. Default: no gateway; the worker connects directly.',
  }),
  GATEWAY_PORT: variable({
    parse: port,
    fallback: 3128,
    about: 'Port of the gateway for targets and large results.',
  }),
  GATEWAY_TEMPORAL_PORT: variable({
    parse: port,
    fallback: 7233,
    about: 'Port at which the gateway lets workers poll their own task queue.',
  }),
  GATEWAY_CERTIFICATES: variable({
    parse: (text) => resolve(text),
    fallback: null,
    about:
      "Directory with `tls.crt` and `tls.key` of the gateway, and `ca.crt`, which signs the certificates of its workers. The common name of a worker's certificate is the pool whose queue it may poll.",
  }),
  OWN_PORTS: variable({
    parse: (text) => list(text).map(port),
    fallback: [],
    fallbackText: '',
    about:
      'Additional ports on which this installation listens, such as the internal ports of Temporal and its database. `EGRESS_ALLOW` never permits connections to them.',
  }),
  DNS_SERVERS: variable({
    parse: (text) => list(text).map(dnsServer),
    fallback: null,
    about:
      'DNS resolvers, `address[:port],…`. Default: those of `/etc/resolv.conf`. `dns-lookup` can validate answers only if they pass on the records of DNSSEC.',
  }),
  WEBHOOK_RETRY_SCHEDULE: variable({
    parse: retrySchedule,
    fallback: [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000],
    fallbackText: '5s,5m,30m,2h,5h,10h,10h',
    about: 'Delays between the attempts of a webhook delivery, separated by commas.',
  }),
  GOLD_FEED_URL: variable({
    parse: webUrl,
    fallback: 'https://api.gold-api.com',
    about: 'Base URL of the metal price feed, to which the service appends `/price/XAU` and `/price/XAG`.',
  }),
  FX_FEED_URL: variable({
    parse: webUrl,
    fallback: 'https://api.frankfurter.dev/v2/rates?base=USD',
    about: 'URL of the exchange rate feed.',
  }),
  CHROMIUM_PATH: variable({
    parse: String,
    fallback: null,
    about: 'Path of the Chromium executable. Default: the first one found in the standard install locations.',
  }),
  CHROMIUM_UNCONFINED: variable({
    parse: boolean,
    fallback: false,
    about:
      'Whether Chromium runs in production even if the kernel permits no network namespace or no Chromium sandbox.',
  }),
  FILTER_LISTS: variable({
    parse: String,
    fallback: null,
    about:
      'Directory of filter lists (`*.txt`) for ads and trackers. Default: those of the Debian package `webext-ublock-origin-chromium`.',
  }),
  SOFFICE_PATH: variable({
    parse: String,
    fallback: null,
    about:
      'Path of the LibreOffice executable. Default: the first one found in the standard install locations.',
  }),
  PROGRAMS_DIR: variable({
    parse: (text) => resolve(text),
    fallback: null,
    about:
      'Directory of unpacked Debian packages, laid out like `/`. Tools use the programs, libraries, fonts and filter lists in it that are not installed. Default: none; `npm start` sets it to the packages that it has unpacked.',
  }),
  SMTP_URL: variable({
    parse: (text) => url(text, ['smtp:', 'smtps:']),
    fallback: null,
    secret: true,
    about:
      'Mail server, `smtp://user:password@host:587` or `smtps://…`. If it is set, new owners must verify their email address. Default: no email is sent.',
  }),
  MAIL_FROM: variable({
    parse: mailAddress,
    fallback: null,
    about: 'Sender address of email. Default: `utility-tools` at the host of `PUBLIC_URL`.',
  }),
  OPERATOR_NAME: variable({
    parse: line,
    fallback: null,
    about:
      'Name of the person or company that runs the installation, for `/contact`, `/terms`, `/privacy`, `/.well-known/security.txt`, the OpenAPI document and mails. Requires `SUPPORT_EMAIL`. Default: these pages say that no operator is named.',
  }),
  SUPPORT_EMAIL: variable({
    parse: mailAddress,
    fallback: null,
    about: 'Email address at which users reach the operator. Requires `OPERATOR_NAME`.',
  }),
  OPERATOR_ADDRESS: variable({
    parse: line,
    fallback: null,
    about:
      'Postal address of the operator in one line, for `/contact` and invoices. Requires `OPERATOR_NAME`.',
  }),
  SECURITY_EMAIL: variable({
    parse: mailAddress,
    fallback: null,
    about:
      'Email address for reports of security problems, for `/contact` and `/.well-known/security.txt`. Requires `OPERATOR_NAME`. Default: `SUPPORT_EMAIL`.',
  }),
  TERMS_OF_SERVICE: variable({
    parse: operatorText,
    fallback: null,
    about:
      'Terms of service: path of a Markdown file that `/terms` shows, or an https URL to which it links. Requires `OPERATOR_NAME`.',
  }),
  PRIVACY_POLICY: variable({
    parse: operatorText,
    fallback: null,
    about:
      'Privacy policy: path of a Markdown file that `/privacy` shows, or an https URL to which it links. Requires `OPERATOR_NAME`.',
  }),
  OPERATOR_VAT_ID: variable({
    parse: vatId,
    fallback: null,
    about: 'VAT id of the operator, for invoices. Requires `INVOICE_TAX_RATE`.',
  }),
  INVOICE_TAX_RATE: variable({
    parse: percentage,
    fallback: null,
    about:
      'Tax in percent that the prices of `CREDIT_PACKS` contain, such as `20` or `8.1`; `0` for no tax. With it, each purchase gets an invoice with a number. Requires `OPERATOR_ADDRESS`. Default: no invoices; the receipts say that they are not tax invoices.',
  }),
  INVOICE_TAX_NAME: variable({
    parse: line,
    fallback: 'VAT',
    about: 'Name of the tax on invoices.',
  }),
  INVOICE_NOTE: variable({
    parse: line,
    fallback: null,
    about:
      'Text of every invoice, such as the number of a register or the reason why no tax is charged. Requires `INVOICE_TAX_RATE`. Default: none.',
  }),
  INVOICE_REVERSE_CHARGE: variable({
    parse: line,
    fallback: null,
    about:
      'Text of invoices to buyers whose VAT id belongs to another country than `OPERATOR_VAT_ID`, which it requires. These invoices contain no tax; the price stays. VAT ids of buyers are checked by their form only. Default: these buyers pay the tax too.',
  }),
  CREDIT_PACKS: variable({
    parse: (text) => parsePacks(list(text)),
    fallback: [
      { credits: 1000, amount: 900, currency: 'USD' },
      { credits: 5000, amount: 3900, currency: 'USD' },
      { credits: 25_000, amount: 16_900, currency: 'USD' },
    ],
    fallbackText: '1000:9.00 USD,5000:39.00 USD,25000:169.00 USD',
    about:
      'Credit packs on sale as `credits:price currency`, separated by commas, or `off` to sell none. Currencies without two decimals, such as JPY, are not supported.',
  }),
  STRIPE_SECRET_KEY: variable({
    parse: String,
    fallback: null,
    secret: true,
    about:
      'Stripe secret key, with which the dashboard sells credits through Stripe. Default: a test checkout that takes no money; in production, no sale.',
  }),
  STRIPE_WEBHOOK_SECRET: variable({
    parse: String,
    fallback: null,
    secret: true,
    about:
      'Signing secret of the webhook endpoint that is registered at Stripe. Required with `STRIPE_SECRET_KEY`.',
  }),
  STRIPE_NETWORK_ID: variable({
    parse: networkId,
    fallback: null,
    about:
      "Id of the operator's profile in Stripe's network (`profile_…`). With it, owners can permit programs to buy credits in answer to the response 402. Requires `STRIPE_SECRET_KEY` and, in production, a `PUBLIC_URL` with https. Default: programs cannot buy credits.",
  }),
  STRIPE_API_URL: variable({
    parse: webUrl,
    fallback: 'https://api.stripe.com',
    about: 'URL of the Stripe API. Change it for tests only.',
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: variable({
    parse: webUrl,
    fallback: null,
    about:
      'Base URL of an OpenTelemetry collector that receives traces by OTLP over HTTP at `/v1/traces`. Default: no traces.',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: variable({
    parse: headerList,
    fallback: [],
    fallbackText: '',
    secret: true,
    about: 'Headers to send to the collector, `name=value,…`, with percent-encoded values.',
  }),
  OTEL_TRACES_SAMPLER_ARG: variable({
    parse: ratio,
    fallback: 1,
    about: 'Fraction of the traces that is exported, from 0 to 1, sampled by trace id.',
  }),
  LOG_LEVEL: variable({
    parse: oneOf(LOG_LEVELS),
    fallback: 'info',
    about: `Lowest level that is logged, one of ${LOG_LEVELS.map((level) => `\`${level}\``).join(', ')}.`,
  }),
  NODE_ENV: variable({
    parse: oneOf(['development', 'test', 'production']),
    fallback: 'development',
    about:
      '`production` refuses `RATE_LIMIT=off` and the test checkout, and never posts webhooks to `localhost`.',
  }),
};

type Variables = typeof VARIABLES;
export type Env = {
  [Name in keyof Variables]: ReturnType<Variables[Name]['parse']> | Variables[Name]['fallback'];
};

/** Variables about the operator, which mean nothing without its name. */
const OF_OPERATOR = [
  'SUPPORT_EMAIL',
  'OPERATOR_ADDRESS',
  'SECURITY_EMAIL',
  'TERMS_OF_SERVICE',
  'PRIVACY_POLICY',
] as const;

/** Variables about invoices, which mean nothing where none are issued. */
const OF_INVOICES = ['OPERATOR_VAT_ID', 'INVOICE_NOTE', 'INVOICE_REVERSE_CHARGE'] as const;

function read<T, D>(name: string, definition: Variable<T, D>, source: NodeJS.ProcessEnv): T | D {
  let text = source[name];
  const file = source[`${name}_FILE`];
  if (definition.secret && (text === undefined || text === '') && file !== undefined && file !== '') {
    try {
      text = readFileSync(file, 'utf8').trim();
    } catch (error) {
      throw new EnvError(`${name}_FILE: cannot read the file`, { cause: error });
    }
  }
  if (text === undefined || text === '') return definition.fallback;
  try {
    return definition.parse(text);
  } catch (error) {
    throw new EnvError(`${name}: ${error instanceof Error ? error.message : 'invalid value'}`, {
      cause: error,
    });
  }
}

/**
 * Reads and validates the environment. No other module reads `process.env`.
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
    FAST_LANE_URLS: read('FAST_LANE_URLS', v.FAST_LANE_URLS, source),
    PUBLIC_URL: read('PUBLIC_URL', v.PUBLIC_URL, source),
    TRUST_PROXY: read('TRUST_PROXY', v.TRUST_PROXY, source),
    OPERATOR_TWO_FACTOR: read('OPERATOR_TWO_FACTOR', v.OPERATOR_TWO_FACTOR, source),
    DATA_DIR: read('DATA_DIR', v.DATA_DIR, source),
    MONGODB_URI: read('MONGODB_URI', v.MONGODB_URI, source),
    TEMPORAL_ADDRESS: read('TEMPORAL_ADDRESS', v.TEMPORAL_ADDRESS, source),
    TEMPORAL_NAMESPACE: read('TEMPORAL_NAMESPACE', v.TEMPORAL_NAMESPACE, source),
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: read(
      'TEMPORAL_TLS_SERVER_CA_CERT_PATH',
      v.TEMPORAL_TLS_SERVER_CA_CERT_PATH,
      source,
    ),
    TEMPORAL_TLS_CLIENT_CERT_PATH: read(
      'TEMPORAL_TLS_CLIENT_CERT_PATH',
      v.TEMPORAL_TLS_CLIENT_CERT_PATH,
      source,
    ),
    TEMPORAL_TLS_CLIENT_KEY_PATH: read(
      'TEMPORAL_TLS_CLIENT_KEY_PATH',
      v.TEMPORAL_TLS_CLIENT_KEY_PATH,
      source,
    ),
    TEMPORAL_TLS_SERVER_NAME: read('TEMPORAL_TLS_SERVER_NAME', v.TEMPORAL_TLS_SERVER_NAME, source),
    BUILD_ID: read('BUILD_ID', v.BUILD_ID, source),
    TEMPORAL_UI_URL: read('TEMPORAL_UI_URL', v.TEMPORAL_UI_URL, source),
    MASTER_KEYS: read('MASTER_KEYS', v.MASTER_KEYS, source),
    FREE_CREDITS: read('FREE_CREDITS', v.FREE_CREDITS, source),
    TRIAL_CREDITS: read('TRIAL_CREDITS', v.TRIAL_CREDITS, source),
    RATE_LIMIT: read('RATE_LIMIT', v.RATE_LIMIT, source),
    POOL_WAIT: read('POOL_WAIT', v.POOL_WAIT, source),
    CALLS_PER_POOL: read('CALLS_PER_POOL', v.CALLS_PER_POOL, source),
    CONNECTIONS_PER_ADDRESS: read('CONNECTIONS_PER_ADDRESS', v.CONNECTIONS_PER_ADDRESS, source),
    WORKER_SLOTS: read('WORKER_SLOTS', v.WORKER_SLOTS, source),
    EGRESS_ALLOW: read('EGRESS_ALLOW', v.EGRESS_ALLOW, source),
    GATEWAY_URL: read('GATEWAY_URL', v.GATEWAY_URL, source),
    GATEWAY_PORT: read('GATEWAY_PORT', v.GATEWAY_PORT, source),
    GATEWAY_TEMPORAL_PORT: read('GATEWAY_TEMPORAL_PORT', v.GATEWAY_TEMPORAL_PORT, source),
    GATEWAY_CERTIFICATES: read('GATEWAY_CERTIFICATES', v.GATEWAY_CERTIFICATES, source),
    OWN_PORTS: read('OWN_PORTS', v.OWN_PORTS, source),
    DNS_SERVERS: read('DNS_SERVERS', v.DNS_SERVERS, source),
    WEBHOOK_RETRY_SCHEDULE: read('WEBHOOK_RETRY_SCHEDULE', v.WEBHOOK_RETRY_SCHEDULE, source),
    GOLD_FEED_URL: read('GOLD_FEED_URL', v.GOLD_FEED_URL, source),
    FX_FEED_URL: read('FX_FEED_URL', v.FX_FEED_URL, source),
    CHROMIUM_PATH: read('CHROMIUM_PATH', v.CHROMIUM_PATH, source),
    CHROMIUM_UNCONFINED: read('CHROMIUM_UNCONFINED', v.CHROMIUM_UNCONFINED, source),
    FILTER_LISTS: read('FILTER_LISTS', v.FILTER_LISTS, source),
    SOFFICE_PATH: read('SOFFICE_PATH', v.SOFFICE_PATH, source),
    PROGRAMS_DIR: read('PROGRAMS_DIR', v.PROGRAMS_DIR, source),
    SMTP_URL: read('SMTP_URL', v.SMTP_URL, source),
    MAIL_FROM: read('MAIL_FROM', v.MAIL_FROM, source),
    OPERATOR_NAME: read('OPERATOR_NAME', v.OPERATOR_NAME, source),
    SUPPORT_EMAIL: read('SUPPORT_EMAIL', v.SUPPORT_EMAIL, source),
    OPERATOR_ADDRESS: read('OPERATOR_ADDRESS', v.OPERATOR_ADDRESS, source),
    SECURITY_EMAIL: read('SECURITY_EMAIL', v.SECURITY_EMAIL, source),
    TERMS_OF_SERVICE: read('TERMS_OF_SERVICE', v.TERMS_OF_SERVICE, source),
    PRIVACY_POLICY: read('PRIVACY_POLICY', v.PRIVACY_POLICY, source),
    OPERATOR_VAT_ID: read('OPERATOR_VAT_ID', v.OPERATOR_VAT_ID, source),
    INVOICE_TAX_RATE: read('INVOICE_TAX_RATE', v.INVOICE_TAX_RATE, source),
    INVOICE_TAX_NAME: read('INVOICE_TAX_NAME', v.INVOICE_TAX_NAME, source),
    INVOICE_NOTE: read('INVOICE_NOTE', v.INVOICE_NOTE, source),
    INVOICE_REVERSE_CHARGE: read('INVOICE_REVERSE_CHARGE', v.INVOICE_REVERSE_CHARGE, source),
    CREDIT_PACKS: read('CREDIT_PACKS', v.CREDIT_PACKS, source),
    STRIPE_SECRET_KEY: read('STRIPE_SECRET_KEY', v.STRIPE_SECRET_KEY, source),
    STRIPE_WEBHOOK_SECRET: read('STRIPE_WEBHOOK_SECRET', v.STRIPE_WEBHOOK_SECRET, source),
    STRIPE_NETWORK_ID: read('STRIPE_NETWORK_ID', v.STRIPE_NETWORK_ID, source),
    STRIPE_API_URL: read('STRIPE_API_URL', v.STRIPE_API_URL, source),
    OTEL_EXPORTER_OTLP_ENDPOINT: read('OTEL_EXPORTER_OTLP_ENDPOINT', v.OTEL_EXPORTER_OTLP_ENDPOINT, source),
    OTEL_EXPORTER_OTLP_HEADERS: read('OTEL_EXPORTER_OTLP_HEADERS', v.OTEL_EXPORTER_OTLP_HEADERS, source),
    OTEL_TRACES_SAMPLER_ARG: read('OTEL_TRACES_SAMPLER_ARG', v.OTEL_TRACES_SAMPLER_ARG, source),
    LOG_LEVEL: read('LOG_LEVEL', v.LOG_LEVEL, source),
    NODE_ENV: read('NODE_ENV', v.NODE_ENV, source),
  };
  if (env.PORT !== 0 && env.PORT === env.INTERNAL_PORT)
    throw new EnvError('INTERNAL_PORT: must differ from PORT; 0 picks a free port');
  if ((env.TEMPORAL_TLS_CLIENT_CERT_PATH === null) !== (env.TEMPORAL_TLS_CLIENT_KEY_PATH === null))
    throw new EnvError(
      'TEMPORAL_TLS_CLIENT_CERT_PATH: requires TEMPORAL_TLS_CLIENT_KEY_PATH; set both or neither',
    );
  if (env.NODE_ENV === 'production' && env.RATE_LIMIT === null)
    throw new EnvError('RATE_LIMIT: must not be off in production');
  // With STRIPE_SECRET_KEY alone, payments would succeed but no credits would be added.
  if ((env.STRIPE_SECRET_KEY === null) !== (env.STRIPE_WEBHOOK_SECRET === null))
    throw new EnvError('STRIPE_SECRET_KEY: requires STRIPE_WEBHOOK_SECRET; set both or neither');
  if (env.STRIPE_NETWORK_ID !== null && env.STRIPE_SECRET_KEY === null)
    throw new EnvError('STRIPE_NETWORK_ID: requires STRIPE_SECRET_KEY');
  // Payment tokens must not be sent without TLS.
  if (
    env.STRIPE_NETWORK_ID !== null &&
    env.NODE_ENV === 'production' &&
    env.PUBLIC_URL?.startsWith('https:') !== true
  )
    throw new EnvError('STRIPE_NETWORK_ID: requires a PUBLIC_URL with https in production');
  for (const name of OF_OPERATOR)
    if (env[name] !== null && env.OPERATOR_NAME === null)
      throw new EnvError(`${name}: requires OPERATOR_NAME`);
  if (env.OPERATOR_NAME !== null && env.SUPPORT_EMAIL === null)
    throw new EnvError('OPERATOR_NAME: requires SUPPORT_EMAIL, because users must reach the operator');
  if (env.INVOICE_TAX_RATE !== null && env.OPERATOR_ADDRESS === null)
    throw new EnvError('INVOICE_TAX_RATE: requires OPERATOR_ADDRESS, because invoices name the seller');
  for (const name of OF_INVOICES)
    if (env[name] !== null && env.INVOICE_TAX_RATE === null)
      throw new EnvError(`${name}: requires INVOICE_TAX_RATE`);
  if (env.INVOICE_REVERSE_CHARGE !== null && env.OPERATOR_VAT_ID === null)
    throw new EnvError('INVOICE_REVERSE_CHARGE: requires OPERATOR_VAT_ID');
  return env;
}
