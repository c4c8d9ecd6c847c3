import type { IncomingHttpHeaders } from 'node:http';
import type Router from '@koa/router';
import { createMcpHandler, type Server } from '@modelcontextprotocol/server';
import { ERRORS, type ErrorCode, ServiceError } from '../../schemas/errors.ts';
import type { Registry } from '../../schemas/registry.ts';
import { OAUTH_SCOPES } from '../auth/oauthPlugin.ts';
import type { OauthServer } from '../auth/oauthServer.ts';
import type { Outages } from '../calls/outages.ts';
import { DEFAULT_BODY_BYTES } from '../calls/toolRoutes.ts';
import { readJson } from '../http/body.ts';
import type { Context, State } from '../http/context.ts';
import { isRebound, isSameOrigin } from '../http/origin.ts';
import type { UploadLimit } from '../http/uploadLimit.ts';

const PATH = '/mcp';
/** Path of the protected resource metadata (RFC 9728, section 3.1). */
const METADATA_PATH = `/.well-known/oauth-protected-resource${PATH}`;
/** Maximum size in bytes of a message without the arguments of the tool. */
const ENVELOPE_BYTES = 65_536;
/**
 * Response to a request from another origin. JSON-RPC reserves the codes -32000 to -32099 for errors that the
 * implementation defines.
 */
const ORIGIN_REFUSED = { jsonrpc: '2.0', error: { code: -32_000, message: 'Origin not allowed' }, id: null };

interface Dependencies {
  registry: Registry;
  outages: Outages;
  uploads: UploadLimit;
  /** Configured URL of the API; null: the URL that the client used. */
  publicUrl: string | null;
  /** The OAuth server whose access tokens the endpoint accepts. */
  oauth: Pick<OauthServer, 'endpoint' | 'issuer'>;
  authenticate(ctx: Context): Promise<void>;
  /** Creates the MCP server that answers one HTTP request. */
  createServer(ctx: Context, hangup: AbortSignal): Server;
  onError(error: Error): void;
}

const JSON_TYPE = 'application/json';
const STREAM_TYPE = 'text/event-stream';

/**
 * Copies only the headers that the protocol uses, which do not include credentials.
 *
 * @param acceptable the types of responses that the client accepts (RFC 9110 section 12.5.1). The MCP package looks for both
 *   names in the header of a client of 2025, so the header names both if the client accepts one of them
 */
function protocolHeaders(headers: IncomingHttpHeaders, acceptable: readonly string[]): Headers {
  const copied = new Headers();
  for (const [name, value] of Object.entries(headers))
    if (/^(?:accept|content-type|mcp-.*)$/.test(name) && typeof value === 'string') copied.set(name, value);
  if (acceptable.length > 0) copied.set('accept', `${JSON_TYPE}, ${STREAM_TYPE}`);
  return copied;
}

/** Returns the response in a stream of messages, which is its last one. */
async function lastMessage(stream: Response): Promise<Buffer> {
  const messages = [...(await stream.text()).matchAll(/^data: (.*)$/gm)];
  return Buffer.from(messages.at(-1)?.[1] ?? '');
}

/** The challenge of a 401 response (RFC 6750, section 3, and RFC 9728, section 5.1). */
function challenge(code: ErrorCode, metadata: string): string {
  const error = code === 'missing_api_key' ? '' : 'error="invalid_token", ';
  return `Bearer ${error}resource_metadata="${metadata}"`;
}

/**
 * Registers the endpoint of the Model Context Protocol (Streamable HTTP, without sessions), and the protected
 * resource metadata to which a 401 response refers. Each request has its own MCP server, so any API process can
 * answer it.
 */
export function mcpRoutes(router: Router<State>, deps: Dependencies): void {
  const { registry, outages, uploads, publicUrl, oauth, authenticate, createServer, onError } = deps;
  const largest = Math.max(
    ...[...registry.values()].map(({ limits }) => limits.bodyBytes ?? DEFAULT_BODY_BYTES),
  );
  const resourceOf = (ctx: Context): URL => new URL(oauth.endpoint(ctx));

  async function receive(ctx: Context): Promise<Record<string, unknown>> {
    using _slot = await uploads.acquire(ctx.state.caller.account._id, ctx.req);
    return await readJson(ctx, largest + ENVELOPE_BYTES);
  }

  router.get(METADATA_PATH, (ctx) => {
    ctx.body = {
      resource: resourceOf(ctx).href,
      resource_name: 'Utility Tools API',
      authorization_servers: [oauth.issuer(ctx)],
      scopes_supported: OAUTH_SCOPES,
      bearer_methods_supported: ['header'],
      resource_documentation: new URL('/docs', resourceOf(ctx)).href,
    };
  });

  router.post(PATH, async (ctx) => {
    // The listener is registered before the first await, because the caller may disconnect during the checks.
    const hangup = new AbortController();
    ctx.res.once('close', () => hangup.abort());
    // Browsers send Origin with every POST request, so a request without it needs no check for DNS rebinding.
    if (!isSameOrigin(ctx, publicUrl) || (ctx.get('Origin') !== '' && isRebound(ctx, publicUrl))) {
      ctx.status = 403;
      ctx.body = ORIGIN_REFUSED;
      return;
    }
    outages.refuse('mongodb');
    try {
      await authenticate(ctx);
    } catch (error) {
      if (error instanceof ServiceError && ERRORS[error.code].status === 401)
        ctx.set('WWW-Authenticate', challenge(error.code, new URL(METADATA_PATH, resourceOf(ctx)).href));
      throw error;
    }
    ctx.set('Cache-Control', 'no-store');
    const parsedBody = await receive(ctx);
    // Both types are sent in UTF-8, which clients may name.
    const acceptable = [JSON_TYPE, STREAM_TYPE].filter((type) => ctx.accepts(type, `${type}; charset=utf-8`));
    const handler = createMcpHandler(() => createServer(ctx, hangup.signal), { onerror: onError });
    const request = new Request(resourceOf(ctx), {
      method: 'POST',
      headers: protocolHeaders(ctx.req.headers, acceptable),
      signal: hangup.signal,
    });
    const response = await handler.fetch(request, { parsedBody });
    const type = response.headers.get('Content-Type') ?? '';
    const isStream = type.startsWith(STREAM_TYPE);
    const asJson = isStream && acceptable.includes(JSON_TYPE) && !acceptable.includes(STREAM_TYPE);
    ctx.status = response.status;
    if (asJson) ctx.body = await lastMessage(response);
    else ctx.body = isStream ? response.body : Buffer.from(await response.arrayBuffer());
    ctx.type = asJson ? JSON_TYPE : type;
  });
}
