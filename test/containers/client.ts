import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { isRecord, type Json, recordAt } from '../helpers/json.ts';
import { COMMAND_MS, root, run, signal } from './harness.ts';

/** Milliseconds within which all containers must be healthy; an idle machine takes two minutes. */
export const UP_MS = 20 * 60_000;
/** Credits of the test's account. */
export const CREDITS = 10_000;
/** Name of the Compose project, which Docker puts in front of the names of networks. */
export const PROJECT = 'utility-tools-test';
/** Image of the containers that the tests start themselves: the base of the project's images. */
export const NODE_IMAGE =
  /^FROM (node:\S+) AS base$/m.exec(readFileSync(join(root, 'Dockerfile'), 'utf8'))?.[1] ?? '';
/** Ports of this machine at which the proxy is published: the API, and the Temporal UI. */
export const HTTPS_PORT = 18_443;
export const UI_PORT = 18_233;

export interface HttpResult {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  json: Json;
}

/** A request as it is sent. A number is the size of the body in bytes. */
export interface Exchange {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | number;
}

/** An account of the stack, with a key for tools and a key for the Account API. */
export interface Account {
  accountId: string;
  apiKey: string;
  accountKey: string;
}

interface Service {
  Service: string;
  State: string;
  Health: string;
  ExitCode: number;
}

/** Creates a client that uses the stack as callers and operators do. @param account used by default; else see `signUp` */
export function createClient(
  folder: string,
  account: Account = { accountId: '', apiKey: '', accountKey: '' },
) {
  let agent: Agent | null = null;
  let own = account;
  const compose = (args: readonly string[], timeoutMs?: number) =>
    run('docker', ['compose', ...args], folder, timeoutMs);

  /** Sends a request through the proxy, by default to the API. */
  async function exchange(
    { method, path, headers: sent, body: payload }: Exchange,
    port = HTTPS_PORT,
  ): Promise<HttpResult> {
    agent ??= new Agent({
      connect: {
        ca: await compose(['exec', '-T', 'proxy', 'cat', '/data/caddy/pki/authorities/local/root.crt']),
      },
    });
    const { statusCode, headers, body } = await request(`https://localhost:${port}${path}`, {
      method,
      headers: sent,
      body: typeof payload === 'number' ? 'a'.repeat(payload) : (payload ?? null),
      dispatcher: agent,
      headersTimeout: COMMAND_MS,
      signal,
    });
    const text = await body.text();
    let json: unknown = null;
    try {
      json = JSON.parse(text);
    } catch {
      // The body is not JSON, as in some responses.
    }
    return { status: statusCode, headers, text, json: isRecord(json) ? json : {} };
  }

  const send = (
    path: string,
    init: { key?: string; body?: unknown; headers?: Json; port?: number } = {},
  ): Promise<HttpResult> =>
    exchange(
      {
        method: init.body === undefined ? 'GET' : 'POST',
        path,
        headers: {
          ...(init.key === undefined ? {} : { authorization: `Bearer ${init.key}` }),
          ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...Object.fromEntries(
            Object.entries(init.headers ?? {}).map(([name, value]) => [name, String(value)]),
          ),
        },
        ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
      },
      init.port,
    );

  async function createAccount(email: string, credits: number): Promise<Account> {
    const command = ['create-account', '--email', email, '--credits', String(credits), '--json'];
    const output = await compose(['exec', '-T', 'api', 'node', 'api/cli/admin.ts', ...command]);
    const { accountId, apiKey, accountKey } = recordAt(JSON.parse(output));
    return { accountId: String(accountId), apiKey: String(apiKey), accountKey: String(accountKey) };
  }

  const services = async (): Promise<Service[]> => {
    const output = await compose(['ps', '--all', '--format', 'json']);
    return output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  };

  return {
    compose,
    exchange,
    send,
    services,
    /** Runs a module with Node.js in a running container of a service. @returns its output */
    inside: (service: string, script: string, ...args: string[]) =>
      compose(['exec', '-T', service, 'node', '--input-type=module', '-e', script, ...args]),
    /** Runs a module with Node.js in a new container in one of the stack's networks. @returns its output */
    beside: (network: string, script: string, ...args: string[]) =>
      run(
        'docker',
        [
          ...['run', '--rm', '--network', `${PROJECT}_${network}`, NODE_IMAGE],
          ...['node', '--input-type=module', '-e', script, ...args],
        ],
        folder,
      ),
    /** Returns the ids of the running containers of a service. */
    ids: async (service: string) =>
      (await compose(['ps', '--quiet', '--status', 'running', service])).trim().split('\n').filter(Boolean),
    docker: (...args: string[]) => run('docker', args, folder),
    /** Runs a program in the folder of the stack. @returns its output */
    shell: (file: string, ...args: string[]) => run(file, args, folder, UP_MS),
    call: (tool: string, body: unknown, headers: Json = {}, key = own.apiKey) =>
      send(`/api/v1/tools/${tool}`, { key, body, headers }),
    account: () => send('/api/v1/account', { key: own.accountKey }),
    createAccount,
    /** Creates the account that the client uses by default. */
    async signUp(): Promise<Account> {
      own = await createAccount('owner@example.com', CREDITS);
      return own;
    },
    close: async () => agent?.close(),
  };
}

export type Client = ReturnType<typeof createClient>;

/** Services that end after they did their work. */
const ONE_SHOT = ['certificates', 'temporal-schema', 'temporal-setup'];

/** Checks that every container is healthy, or has ended with success. @returns the number of containers */
export async function assertHealthy(client: Client): Promise<number> {
  const services = await client.services();
  for (const { Service, State, Health, ExitCode } of services) {
    if (ONE_SHOT.includes(Service)) assert.deepEqual([State, ExitCode], ['exited', 0], Service);
    else if (Service === 'temporal-ui' || Service === 'backup') assert.equal(State, 'running', Service);
    else assert.deepEqual([State, Health], ['running', 'healthy'], Service);
  }
  return services.length;
}

/** Replaces https by http in the URLs of an example, because the tools do not trust the fixture's certificate. */
export const useFixture = (pool: string, input: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(input).map(([field, value]) => [
      field,
      (pool !== 'cpu' || field === 'fileUrl') && typeof value === 'string'
        ? value.replace(/^https:\/\/example\.com\//, 'http://example.com/')
        : value,
    ]),
  );
