import type { Readable } from 'node:stream';
import type Router from '@koa/router';
import { ServiceError } from '../../schemas/errors.ts';
import type { Operation } from '../../schemas/operation.ts';
import type { ObjectSchema } from '../../schemas/tool.ts';
import type { Actor } from '../../store/accounts/securityLog.ts';
import { actorOf } from '../auth/actor.ts';
import { prefersRaw } from './accept.ts';
import { readJson } from './body.ts';
import type { Caller, Context, State } from './context.ts';
import type { TakeTokens } from './rateLimit.ts';
import { createValidator } from './validator.ts';

const BODY_BYTES = 100_000;
const NO_FIELDS: ObjectSchema = { type: 'object', properties: {}, required: [], additionalProperties: false };
const INTEGER = /^-?(?:0|[1-9]\d{0,14})$/;

/** A request for an operation, validated and typed by the definition of the operation. */
interface Request<Query, Body> {
  caller: Caller;
  /** For the security log. */
  actor: Actor;
  /** The path parameter `{id}`; empty if the path has none. */
  id: string;
  query: Query;
  body: Body;
  /** The media type of `alsoAs` that the Accept header ranks above JSON; null if there is none. */
  as: string | null;
}

/** A response that is streamed as a file. */
export class Download {
  readonly fileName: string;
  readonly body: Readable;

  constructor(fileName: string, body: Readable) {
    this.fileName = fileName;
    this.body = body;
  }
}

/** Registers the route of an operation. */
export type Serve = <Query, Body, Result>(
  operation: Operation<Query, Body, Result>,
  handler: (request: Request<Query, Body>) => Promise<Result | Download>,
) => void;

interface Dependencies {
  authenticate(ctx: Context): Promise<void>;
  rateLimit: TakeTokens;
}

/**
 * Converts the query parameters that the schema declares as integers. Values that are not integers stay text, so that
 * the validator reports them.
 */
export function parseQuery(ctx: Context, schema: ObjectSchema): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(ctx.query).map(([name, value]) => {
      const isInteger = Object.hasOwn(schema.properties, name) && schema.properties[name]?.type === 'integer';
      return [name, isInteger && typeof value === 'string' && INTEGER.test(value) ? Number(value) : value];
    }),
  );
}

/** Reads the body of a request. An empty body counts as `{}` if no field is required. */
async function readBody(ctx: Context, { body }: Operation): Promise<Record<string, unknown>> {
  if (body === undefined) return {};
  const { 'content-length': length = '0', 'transfer-encoding': coding } = ctx.req.headers;
  const isEmpty = length === '0' && coding === undefined;
  return isEmpty && body.required.length === 0 ? {} : readJson(ctx, BODY_BYTES);
}

function sendDownload(ctx: Context, type: string, { fileName, body }: Download): void {
  ctx.attachment(fileName);
  ctx.type = type;
  ctx.body = body;
}

/**
 * Creates `Serve`. For every operation it runs the same steps, in the order of the contract: authentication, rate
 * limit, parsing and validation, handler.
 */
export function createServe(router: Router<State>, { authenticate, rateLimit }: Dependencies): Serve {
  const compile = createValidator();
  return <Query, Body, Result>(
    operation: Operation<Query, Body, Result>,
    handler: (request: Request<Query, Body>) => Promise<Result | Download>,
  ) => {
    const { method, path, success } = operation;
    const querySchema = operation.query ?? NO_FIELDS;
    const validateQuery = compile<Query>(querySchema);
    const validateBody = compile<Body>(operation.body ?? NO_FIELDS);

    router[method](path.replaceAll(/\{(\w+)\}/g, ':$1'), async (ctx) => {
      await authenticate(ctx);
      const { caller } = ctx.state;
      ctx.set('Cache-Control', 'no-store');
      await rateLimit(ctx, () => {
        if (caller.key !== null && caller.key.scope !== operation.auth)
          throw new ServiceError('insufficient_scope');
      });
      const body = await readBody(ctx, operation);
      const as = success.alsoAs?.find((type) => prefersRaw(ctx.get('Accept'), type)) ?? null;
      const result = await handler({
        caller,
        actor: actorOf(ctx),
        id: ctx.params.id ?? '',
        query: validateQuery(parseQuery(ctx, querySchema)),
        body: validateBody(body),
        as,
      });
      ctx.status = success.status;
      if (success.alsoAs !== undefined) ctx.vary('Accept');
      if (result instanceof Download) sendDownload(ctx, as ?? 'application/octet-stream', result);
      else ctx.body = result ?? null;
    });
  };
}
