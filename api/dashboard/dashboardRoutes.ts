import type Router from '@koa/router';
import type { Logger } from 'pino';
import type { Env } from '../../schemas/env.ts';
import type { RateLimit } from '../../schemas/envValues.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { Accounts } from '../../store/accounts.ts';
import type { AccountAudit } from '../../store/audit.ts';
import type { TokenResult } from '../../store/buckets.ts';
import type { Lists } from '../../store/lists.ts';
import type { Payments } from '../../store/payments.ts';
import type { DailyUsage } from '../../store/usage.ts';
import type { Readiness } from '../../workers/platform/readiness.ts';
import type { Keys } from '../account/keyService.ts';
import type { Auth } from '../auth/auth.ts';
import type { ForwardToAuth } from '../auth/authRoutes.ts';
import type { Sessions } from '../auth/sessions.ts';
import type { StripeService } from '../billing/stripeService.ts';
import type { ToolCallService } from '../calls/toolCallService.ts';
import type { Context, State } from '../http/context.ts';
import { createDocument, sendDocument } from '../http/document.ts';
import type { Mails } from '../mail/messages.ts';
import type { DispatchEvents } from '../webhooks/startDispatch.ts';
import type { Webhooks } from '../webhooks/webhookService.ts';
import { callPages } from './controllers/callsController.ts';
import { creditPages } from './controllers/creditsController.ts';
import { eventPages } from './controllers/eventsController.ts';
import { keyPages } from './controllers/keysController.ts';
import { ledgerPages } from './controllers/ledgerController.ts';
import { operatorPages } from './controllers/operatorController.ts';
import { overviewPages } from './controllers/overviewController.ts';
import { passwordPages } from './controllers/passwordController.ts';
import { sessionPages } from './controllers/sessionController.ts';
import { settingsPages } from './controllers/settingsController.ts';
import { toolPages } from './controllers/toolsController.ts';
import { verificationPages } from './controllers/verificationController.ts';
import { webhookPages } from './controllers/webhooksController.ts';
import { createPageRouter } from './pageRouter.ts';
import { scriptFile } from './scriptFile.ts';
import { styleSheets } from './styleSheet.ts';

interface Dependencies {
  forwardToAuth: ForwardToAuth;
  auth: Auth;
  mails: Pick<Mails, 'delivers' | 'reaches'>;
  sessions: Sessions;
  accounts: Accounts;
  registry: Registry;
  lists: Lists;
  payments: Payments;
  usageOf(accountId: string, days: number): Promise<DailyUsage[]>;
  keys: Keys;
  webhooks: Webhooks;
  toolCallService: ToolCallService;
  dispatchEvents: DispatchEvents;
  /** Null if Stripe is not configured. */
  stripe: StripeService | null;
  readiness: () => Promise<Readiness>;
  rateLimit(ctx: Context): Promise<void>;
  /** Null if rate limits are off. */
  takeToken: ((bucket: string, limit: RateLimit) => Promise<TokenResult>) | null;
  auditAccount(accountId: string): Promise<AccountAudit | null>;
  env: Pick<Env, 'PUBLIC_URL' | 'TEMPORAL_UI_URL' | 'FREE_CREDITS' | 'CREDIT_PACKS' | 'NODE_ENV'>;
  log: Logger;
}

/** Registers the pages of the dashboard. They work without JavaScript (progressive enhancement). */
export function dashboardRoutes(router: Router<State>, deps: Dependencies): void {
  // For the command palette (scripts/palette.js).
  const toolTitles = [...deps.registry.values()].map(({ name, title }) => ({ name, title }));
  const own = (name: string) => new URL(`./${name}`, import.meta.url);
  const files = {
    'style.css': styleSheets(own('style/')),
    'dashboard.js': scriptFile(own('scripts/')),
    'tools.json': createDocument('application/json; charset=utf-8', JSON.stringify(toolTitles)),
  };
  for (const [name, file] of Object.entries(files))
    router.get(`/dashboard/${name}`, (ctx: Context) => sendDocument(ctx, file));
  const pageRouter = createPageRouter(router, deps);
  sessionPages(pageRouter, deps);
  verificationPages(pageRouter, deps);
  passwordPages(pageRouter, deps);
  settingsPages(pageRouter, deps);
  overviewPages(pageRouter, deps);
  toolPages(pageRouter, deps);
  callPages(pageRouter, deps);
  ledgerPages(pageRouter, deps);
  creditPages(pageRouter, deps);
  keyPages(pageRouter, deps);
  webhookPages(pageRouter, deps);
  eventPages(pageRouter, deps);
  operatorPages(pageRouter, deps);
  pageRouter.notFound('/dashboard/{*path}');
}
