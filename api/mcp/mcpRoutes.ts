import type { IncomingHttpHeaders } from 'node:http';
import type Router from '@koa/router';
import { createMcpHandler, type Server } from '@modelcontextprotocol/server';
import { ERRORS, ServiceError } from '../../schemas/errors.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { Outages } from '../calls/outages.ts';
import { DEFAULT_BODY_BYTES } from '../calls/toolRoutes.ts';
import { readJson } from '../http/body.ts';
import type { Context, State } from '../http/context.ts';
import { STALL_TIMEOUT_MS } from '../http/operation.ts';
import { isSameOrigin, ownOrigin } from '../http/origin.ts';

const PATH = '/mcp';
/** Path of the metadata of a protected resource: RFC 9728, section 3.1. */
const METADATA_PATH = `/.well-known/oauth-protected-resource${PATH}`;
/** Bytes of a message around the arguments of a tool. */
const ENVELOPE_BYTES = 65_536;
/** JSON-RPC reserves -32000 to -32099 for errors of the implementation. */
const ORIGIN_REFUSED = { jsonrpc: '2.0', error: { code: -32_000, message: 'Origin not allowed' }, id: null };

interface Dependencies {
  registry: Registry;
  outages: Outages;
  /** Configured URL of the API; null: as the client addressed it. */
  publicUrl: string | null;
  authenticate(ctx: Context): Promise<void>;
  /** Creates the server of one request. */
  createServer(ctx: Context, hangup: AbortSignal): Server;
  onError(error: Error): void;
}

/** Copies the headers that the protocol defines; credentials are not among them. */
function protocolHeaders(headers: IncomingHttpHeaders): Headers {
  const copied = new Headers();
  for (const [name, value] of Object.entries(headers))
    if (/^(?:accept|content-type|mcp-.*)$/.test(name) && typeof value === 'string') copied.set(name, value);
  return copied;
}

/**
 * Registers the endpoint of the Model Context Protocol (Streamable HTTP, without sessions) and the metadata that a 401
 * names. Each request gets a server of its own, so any API process can answer it.
 */
export function mcpRoutes(router: Router<State>, deps: Dependencies): void {
  const { registry, outages, publicUrl, authenticate, createServer, onError } = deps;
  const largest = Math.max(
    ...[...registry.values()].map(({ limits }) => limits.bodyBytes ?? DEFAULT_BODY_BYTES),
  );
  const resourceOf = (ctx: Context): URL =>
    new URL(PATH, publicUrl ?? ownOrigin(ctx) ?? `http://${ctx.host}`);

  router.get(METADATA_PATH, (ctx) => {
    ctx.body = {
      resource: resourceOf(ctx).href,
      resource_name: 'Utility Tools API',
      bearer_methods_supported: ['header'],
      resource_documentation: new URL('/docs', resourceOf(ctx)).href,
    };
  });

  router.post(PATH, async (ctx) => {
    // Registered before the first await, because a caller may disconnect during the checks.
    const hangup = new AbortController();
    ctx.res.once('close', () => hangup.abort());
    if (!isSameOrigin(ctx, publicUrl)) {
      ctx.status = 403;
      ctx.body = ORIGIN_REFUSED;
      return;
    }
    outages.refuse('mongodb');
    try {
      await authenticate(ctx);
    } catch (error) {
      if (error instanceof ServiceError && ERRORS[error.code].status === 401)
        ctx.set(
          'WWW-Authenticate',
          `Bearer resource_metadata="${new URL(METADATA_PATH, resourceOf(ctx)).href}"`,
        );
      throw error;
    }
    ctx.set('Cache-Control', 'no-store');
    const parsedBody = await readJson(ctx.req, largest + ENVELOPE_BYTES);
    const handler = createMcpHandler(() => createServer(ctx, hangup.signal), { onerror: onError });
    const request = new Request(resourceOf(ctx), {
      method: 'POST',
      headers: protocolHeaders(ctx.req.headers),
      signal: hangup.signal,
    });
    const response = await handler.fetch(request, { parsedBody });
    const type = response.headers.get('Content-Type') ?? '';
    ctx.status = response.status;
    if (type.startsWith('text/event-stream')) {
      ctx.res.setTimeout(STALL_TIMEOUT_MS);
      ctx.body = response.body;
    } else ctx.body = Buffer.from(await response.arrayBuffer());
    ctx.type = type;
  });
}
