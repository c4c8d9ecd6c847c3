import { fileURLToPath } from 'node:url';
import { type Response as DnsResponse, type Received, reply, soa, startDns } from './dns.ts';
import { type SharedStack, type Stack, type StackOptions, startStack, TARGET_HOST } from './stack.ts';
import { startWorld } from './world.ts';

/*
 * The stacks that test files share. Each is started once for a run, when the first file asks for it (dev/testing/stacks.ts).
 * Accounts isolate the files: none stops a process, changes settings, or audits more than its own accounts.
 */

/** Credits of a new account on the stack `open`. */
export const FREE_CREDITS = 30;
/** Milliseconds before each new attempt of a webhook delivery on the stack `open`. */
export const RETRY_MS = [300, 400, 500];
/** The public address of the stack `limited`, and that of its Temporal UI. */
export const LIMITED = { publicUrl: 'https://tools.example', uiUrl: 'http://127.0.0.1:1/?a=1&copy=2' };

/** The operator of the stack `limited`; the other stacks name none. */
export const OPERATOR = {
  OPERATOR_NAME: 'Example *Tools* & Sons',
  SUPPORT_EMAIL: 'help@tools.example',
  OPERATOR_ADDRESS: '1 Example Street, London',
  SECURITY_EMAIL: 'security+reports@tools.example',
  TERMS_OF_SERVICE: fileURLToPath(new URL('terms.md', import.meta.url)),
  PRIVACY_POLICY: 'https://tools.example/our-privacy_policy',
};

/** Answers DNS queries: names below `silent.` never, those below `failing.` with SERVFAIL; no other name exists. */
function answer(query: Received): DnsResponse {
  const name = query.question.name.toLowerCase();
  if (name.startsWith('silent.')) return null;
  if (name.startsWith('failing.')) return reply(query, [], { code: 'SERVFAIL' });
  return reply(query, [], { code: 'NXDOMAIN', authorities: [soa('example.com', 60, 60)] });
}

const PROFILES = {
  /** Without limits; for tests of the API, the clients, the dashboard and the webhooks. */
  async open(owned) {
    const dns = owned.adopt(await startDns(answer), (it) => it.close());
    return {
      apis: 2,
      pools: ['orchestrator', 'delivery', 'cpu', 'network'],
      env: {
        EGRESS_ALLOW: `${TARGET_HOST}/32,hooks.example.com:443`,
        DNS_SERVERS: `${dns.address}:${dns.port}`,
        FREE_CREDITS: String(FREE_CREDITS),
        POOL_WAIT: '80s',
        WEBHOOK_RETRY_SCHEDULE: RETRY_MS.map((ms) => `${ms}ms`).join(),
      },
    };
  },
  /** With the default rate limit, behind a proxy, at a public address, with an operator; without pools. */
  async limited() {
    const { publicUrl: PUBLIC_URL, uiUrl: TEMPORAL_UI_URL } = LIMITED;
    return {
      pools: [],
      env: { RATE_LIMIT: '20:40', TRUST_PROXY: 'true', PUBLIC_URL, TEMPORAL_UI_URL, ...OPERATOR },
    };
  },
  /** All pools, and local servers for the targets of all examples, of which `worldOf` knows the addresses. */
  async full(owned) {
    const world = owned.adopt(await startWorld(), (it) => it.close());
    return { env: world.env };
  },
} satisfies Record<string, (owned: AsyncDisposableStack) => Promise<StackOptions>>;

export type Profile = keyof typeof PROFILES;

const isProfile = (name: string): name is Profile => name in PROFILES;

/** Starts the stack of a profile. @throws when there is no such profile */
export async function startProfile(name: string, servers?: StackOptions['servers']): Promise<Stack> {
  if (!isProfile(name)) throw new Error(`no profile ${name}`);
  await using owned = new AsyncDisposableStack();
  const options = { ...(await PROFILES[name](owned)), ...(servers && { servers }) };
  const stack = owned.adopt(await startStack(options), (it) => it.stop());
  const running = owned.move();
  return { ...stack, stop: () => running.disposeAsync() };
}

/**
 * Returns a stack that the test files of a run share; its `stop` does nothing. A test file that runs by itself starts the stack,
 * so call `stop` in `test.after.always`.
 */
export async function useStack(profile: Profile = 'open'): Promise<SharedStack> {
  const { TEST_STACKS } = process.env;
  if (!TEST_STACKS) return await startProfile(profile);
  const response = await fetch(`${TEST_STACKS}/${profile}`);
  if (!response.ok)
    throw new Error(`the stack of profile ${profile} did not start: ${await response.text()}`);
  return { ...JSON.parse(await response.text()), stop: async () => undefined };
}
