import type { Readable } from 'node:stream';
import type Router from '@koa/router';
import { ServiceError } from '../../schemas/errors.ts';
import type { Operation } from '../../schemas/operation.ts';
import type { ObjectSchema } from '../../schemas/tool.ts';
import { prefersRaw } from './accept.ts';
import { readJson } from './body.ts';
import type { Caller, Context, State } from './context.ts';
import type { TakeTokens } from './rateLimit.ts';
import { createValidator } from './validator.ts';

const BODY_BYTES = 100_000;
/** A download that its reader does not take for so long is given up, and the database cursor behind it with it. */
export const STALLED_MS = 60_000;
const NOTHING: ObjectSchema = { type: 'object', properties: {}, required: [], additionalProperties: false };
const INTEGER = /^-?(?:0|[1-9]\d{0,14})$/;

/** What an operation is asked, checked and typed by its descriptor. */
export interface Request<Query, Body> {
  caller: Caller;
  /** `{id}` of the path; empty where it has none. */
  id: string;
  query: Query;
  body: Body;
  /** The media type of `alsoAs` that the request ranks above JSON, or null. */
  as: string | null;
}

/** An answer that is a file, sent while it is read. */
export class Download {
  readonly fileName: string;
  readonly body: Readable;

  constructor(fileName: string, body: Readable) {
    this.fileName = fileName;
    this.body = body;
  }
}

/** Puts an operation on the router; its handler has to know only what it does. */
export type Serve = <Query, Body, Answer>(
  operation: Operation<Query, Body, Answer>,
  handler: (request: Request<Query, Body>) => Promise<Answer | Download>,
) => void;

interface Dependencies {
  authenticate(ctx: Context): Promise<void>;
  rateLimit: TakeTokens;
}

/** Query strings hold only text: what the schema wants as an integer becomes one, if it is written as one. */
function parseQuery(ctx: Context, schema: ObjectSchema): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(ctx.query).map(([name, value]) => {
      const isInteger = Object.hasOwn(schema.properties, name) && schema.properties[name]?.type === 'integer';
      return [name, isInteger && typeof value === 'string' && INTEGER.test(value) ? Number(value) : value];
    }),
  );
}

/** Where no field is required, nothing at all stands for an empty object. */
async function readBody(ctx: Context, { body }: Operation): Promise<Record<string, unknown>> {
  if (body === undefined) return {};
  const { 'content-length': length = '0', 'transfer-encoding': coding } = ctx.req.headers;
  const isEmpty = length === '0' && coding === undefined;
  return isEmpty && body.required.length === 0 ? {} : readJson(ctx.req, BODY_BYTES);
}

function sendDownload(ctx: Context, type: string, { fileName, body }: Download): void {
  ctx.attachment(fileName);
  ctx.type = type;
  ctx.res.setTimeout(STALLED_MS);
  ctx.body = body;
}

/** The steps that all operations of an account share, in the contract's order, read from their descriptors. */
export function createServe(router: Router<State>, { authenticate, rateLimit }: Dependencies): Serve {
  const compile = createValidator();
  return <Query, Body, Answer>(
    operation: Operation<Query, Body, Answer>,
    handler: (request: Request<Query, Body>) => Promise<Answer | Download>,
  ) => {
    const { method, path, success } = operation;
    const querySchema = operation.query ?? NOTHING;
    const validateQuery = compile<Query>(querySchema);
    const validateBody = compile<Body>(operation.body ?? NOTHING);

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
      const answer = await handler({
        caller,
        id: ctx.params.id ?? '',
        query: validateQuery(parseQuery(ctx, querySchema)),
        body: validateBody(body),
        as,
      });
      ctx.status = success.status;
      if (success.alsoAs !== undefined) ctx.vary('Accept');
      if (answer instanceof Download) sendDownload(ctx, as ?? 'application/octet-stream', answer);
      else ctx.body = answer ?? null;
    });
  };
}
