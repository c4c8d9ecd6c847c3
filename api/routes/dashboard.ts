import { readFileSync } from 'node:fs';
import type Router from '@koa/router';
import type { Logger } from 'pino';
import type { Env } from '../../schemas/env.ts';
import type { RateLimit } from '../../schemas/envValues.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { Accounts } from '../../store/accounts.ts';
import type { AccountAudit } from '../../store/audit.ts';
import type { Taken } from '../../store/buckets.ts';
import type { Lists } from '../../store/lists.ts';
import type { DayOfTool } from '../../store/mongo.ts';
import type { Payments } from '../../store/payments.ts';
import type { Auth } from '../auth.ts';
import type { Context, State } from '../context.ts';
import { createDocument, sendDocument } from '../document.ts';
import type { HandOver } from '../handOver.ts';
import type { Readiness } from '../health.ts';
import type { Keys } from '../keys.ts';
import type { Mails } from '../mails.ts';
import type { Sessions } from '../middleware/session.ts';
import type { StripeService } from '../stripe/service.ts';
import { styleSheet } from '../styleSheet.ts';
import type { ToolCalls } from '../toolCalls.ts';
import type { Webhooks } from '../webhooks.ts';
import type { AskAuth } from './auth.ts';
import { callPages } from './dashboard/calls.ts';
import { creditPages } from './dashboard/credits.ts';
import { createDesk } from './dashboard/desk.ts';
import { eventPages } from './dashboard/events.ts';
import { keyPages } from './dashboard/keys.ts';
import { ledgerPages } from './dashboard/ledger.ts';
import { operatorPages } from './dashboard/operator.ts';
import { overviewPages } from './dashboard/overview.ts';
import { passwordPages } from './dashboard/password.ts';
import { sessionPages } from './dashboard/session.ts';
import { settingsPages } from './dashboard/settings.ts';
import { toolPages } from './dashboard/tools.ts';
import { verificationPages } from './dashboard/verification.ts';
import { webhookPages } from './dashboard/webhooks.ts';

interface Dependencies {
  askAuth: AskAuth;
  auth: Auth;
  mails: Pick<Mails, 'delivers' | 'reaches'>;
  sessions: Sessions;
  accounts: Accounts;
  registry: Registry;
  lists: Lists;
  payments: Payments;
  usageOf(accountId: string): Promise<DayOfTool[]>;
  keys: Keys;
  webhooks: Webhooks;
  toolCalls: ToolCalls;
  handOver: HandOver;
  /** Null where it is not set up. */
  stripe: StripeService | null;
  readiness: () => Promise<Readiness>;
  rateLimit(ctx: Context): Promise<void>;
  /** Null where nothing is limited. */
  takeToken: ((bucket: string, limit: RateLimit) => Promise<Taken>) | null;
  auditAccount(accountId: string): Promise<AccountAudit | null>;
  env: Pick<Env, 'PUBLIC_URL' | 'TEMPORAL_UI_URL' | 'FREE_CREDITS' | 'CREDIT_PACKS' | 'NODE_ENV'>;
  log: Logger;
}

/** The pages for people. They need no JavaScript. */
export function dashboardRoutes(router: Router<State>, deps: Dependencies): void {
  const own = (name: string) => new URL(`../dashboard/${name}`, import.meta.url);
  const files = {
    'style.css': styleSheet(own('style.css')),
    'times.js': createDocument('text/javascript; charset=utf-8', readFileSync(own('times.js'))),
  };
  for (const [name, file] of Object.entries(files))
    router.get(`/dashboard/${name}`, (ctx: Context) => sendDocument(ctx, file));
  const desk = createDesk(router, deps);
  sessionPages(desk, deps);
  verificationPages(desk, deps);
  passwordPages(desk, deps);
  settingsPages(desk, deps);
  overviewPages(desk, deps);
  toolPages(desk, deps);
  callPages(desk, deps);
  ledgerPages(desk, deps);
  creditPages(desk, deps);
  keyPages(desk, deps);
  webhookPages(desk, deps);
  eventPages(desk, deps);
  operatorPages(desk, deps);
  desk.rest('/dashboard/{*path}');
}
