import type Router from '@koa/router';
import type { Logger } from 'pino';
import type { Readiness } from '../../platform/readiness.ts';
import type { Env } from '../../schemas/env.ts';
import type { RateLimit } from '../../schemas/envValues.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { AccountDoc, GrantOperator } from '../../store/accounts/accountDocs.ts';
import type { Accounts } from '../../store/accounts/accounts.ts';
import type { Broadcasts } from '../../store/accounts/broadcast.ts';
import type { ExportLease } from '../../store/accounts/exportLease.ts';
import type { Passkeys } from '../../store/accounts/passkeys.ts';
import type { Search } from '../../store/accounts/search.ts';
import type { Actor, SecurityEvent } from '../../store/accounts/securityLog.ts';
import type { Share } from '../../store/accounts/shares.ts';
import type { Payments } from '../../store/billing/payments.ts';
import type { DailyUsage } from '../../store/billing/usage.ts';
import type { CallContents } from '../../store/calls/callContents.ts';
import type { TokenResult } from '../../store/keys/buckets.ts';
import type { Connections } from '../../store/keys/connections.ts';
import type { AccountAudit } from '../../store/ledger/audit.ts';
import type { Lists } from '../../store/mongo/lists.ts';
import type { Incidents } from '../../store/status/incidents.ts';
import type { PoolSampleDoc } from '../../store/status/statusDocs.ts';
import type { ExportAccount } from '../account/exportAccount.ts';
import type { Keys } from '../account/keyService.ts';
import type { AttemptLimit } from '../auth/attemptLimit.ts';
import type { Auth } from '../auth/auth.ts';
import type { ForwardToAuth } from '../auth/authRoutes.ts';
import type { ConfirmPassword } from '../auth/confirmPassword.ts';
import type { DeviceLogin } from '../auth/deviceLogin.ts';
import type { OauthServer } from '../auth/oauthServer.ts';
import { passkeySite } from '../auth/passkeyPlugin.ts';
import type { PasskeySteps } from '../auth/passkeySteps.ts';
import type { Sessions } from '../auth/sessions.ts';
import type { StripeService } from '../billing/stripeService.ts';
import type { ToolCallService } from '../calls/toolCallService.ts';
import type { Context, State } from '../http/context.ts';
import { createDocument, sendDocument } from '../http/document.ts';
import type { PageLimit } from '../http/pageLimit.ts';
import type { Mails } from '../mail/messages.ts';
import type { Webhooks } from '../webhooks/webhookService.ts';
import { broadcastPages } from './controllers/broadcastController.ts';
import { callPages } from './controllers/callsController.ts';
import { clientPages } from './controllers/clientsController.ts';
import { closeAccountPages } from './controllers/closeAccountController.ts';
import { connectPages } from './controllers/connectController.ts';
import { creditPages } from './controllers/creditsController.ts';
import { deliveryPages } from './controllers/deliveriesController.ts';
import { devicePages } from './controllers/deviceController.ts';
import { eventPages } from './controllers/eventsController.ts';
import { exportPages } from './controllers/exportController.ts';
import { keyPages } from './controllers/keysController.ts';
import { ledgerPages } from './controllers/ledgerController.ts';
import { operatorAccountPages } from './controllers/operatorAccountController.ts';
import { operatorAccountListPages } from './controllers/operatorAccountListsController.ts';
import { operatorPages } from './controllers/operatorController.ts';
import { operatorIncidentPages } from './controllers/operatorIncidentsController.ts';
import { operatorPoolPages } from './controllers/operatorPoolsController.ts';
import { overviewPages } from './controllers/overviewController.ts';
import { passkeySignIn } from './controllers/passkeySignInController.ts';
import { passkeyPages } from './controllers/passkeysController.ts';
import { passwordPages } from './controllers/passwordController.ts';
import { profilePages } from './controllers/profileController.ts';
import { receiptPages } from './controllers/receiptsController.ts';
import { runPages } from './controllers/runsController.ts';
import { securityLogPages } from './controllers/securityLogController.ts';
import { sessionPages } from './controllers/sessionController.ts';
import { settingsPages } from './controllers/settingsController.ts';
import { toolPages } from './controllers/toolsController.ts';
import { twoFactorPages } from './controllers/twoFactorController.ts';
import { verificationPages } from './controllers/verificationController.ts';
import { webhookPages } from './controllers/webhooksController.ts';
import { createPageRouter } from './pageRouter.ts';
import { scriptFile } from './scriptFile.ts';
import { styleSheets } from './styleSheet.ts';

/** What other areas of the API do for the dashboard. */
export interface DashboardServices {
  forwardToAuth: ForwardToAuth;
  confirmPassword: ConfirmPassword;
  passkeySteps: PasskeySteps;
  auth: Auth;
  mails: Mails;
  sessions: Sessions;
  contents: CallContents;
  payments: Payments;
  /** Null if Stripe is not configured. */
  stripe: StripeService | null;
  exportAccount: ExportAccount;
  keys: Keys;
  oauth: OauthServer;
  connections: Connections;
  deviceLogin: DeviceLogin;
  webhooks: Webhooks;
  toolCallService: ToolCallService;
  incidents: Incidents;
  readiness: () => Promise<Readiness>;
}

interface Dependencies extends DashboardServices {
  passkeys: Passkeys;
  countMail: AttemptLimit['countMail'];
  pageLimit: PageLimit;
  accounts: Accounts;
  registry: Registry;
  lists: Lists;
  search: Search;
  usageOf(accountId: string, days: number): Promise<DailyUsage[]>;
  /** Takes the right to export an account; null while another export of it runs. */
  leaseExport(accountId: string, onLost: () => void): Promise<ExportLease | null>;
  /** Closes an account. @returns the ids of its webhook endpoints, which were deleted */
  closeAccount(account: { accountId: string; email: string; actor: Actor }): Promise<string[]>;
  /** Writes to the security log of an account. */
  recordSecurity(event: SecurityEvent): Promise<void>;
  broadcasts: Broadcasts;
  suspendAccount(accountId: string, reason: string, operator: GrantOperator): Promise<AccountDoc>;
  liftSuspension(accountId: string, operator: GrantOperator): Promise<AccountDoc>;
  /** Returns the accounts that hold most of the service now. */
  readShares(): Promise<Share[]>;
  /** Returns the states of the task queues in the last hour. */
  readSamples(): Promise<PoolSampleDoc[]>;
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
    // The dashboard has the colours that the visitor has chosen on the site.
    'dashboard.js': scriptFile(own('scripts/'), own('../site/scripts/theme.js')),
    'tools.json': createDocument('application/json; charset=utf-8', JSON.stringify(toolTitles)),
  };
  for (const [name, file] of Object.entries(files))
    router.get(`/dashboard/${name}`, (ctx: Context) => sendDocument(ctx, file));
  const pageRouter = createPageRouter(router, deps);
  const hasPasskeys = passkeySite(deps.env.PUBLIC_URL) !== null;
  sessionPages(pageRouter, { ...deps, hasPasskeys });
  if (hasPasskeys) {
    passkeySignIn(pageRouter, deps);
    passkeyPages(pageRouter, deps);
  }
  verificationPages(pageRouter, deps);
  passwordPages(pageRouter, deps);
  settingsPages(pageRouter, { ...deps, hasPasskeys });
  profilePages(pageRouter, deps);
  twoFactorPages(pageRouter, deps);
  securityLogPages(pageRouter, deps.lists);
  exportPages(pageRouter, deps);
  closeAccountPages(pageRouter, deps);
  overviewPages(pageRouter, deps);
  toolPages(pageRouter, deps);
  runPages(pageRouter, deps);
  callPages(pageRouter, deps);
  ledgerPages(pageRouter, deps);
  creditPages(pageRouter, deps);
  receiptPages(pageRouter, deps);
  keyPages(pageRouter, deps);
  clientPages(pageRouter, deps);
  connectPages(pageRouter, deps);
  devicePages(pageRouter, deps);
  webhookPages(pageRouter, deps);
  deliveryPages(pageRouter, deps);
  eventPages(pageRouter, deps);
  operatorPages(pageRouter, deps);
  operatorAccountPages(pageRouter, deps);
  operatorAccountListPages(pageRouter, deps);
  operatorIncidentPages(pageRouter, deps);
  operatorPoolPages(pageRouter, deps);
  broadcastPages(pageRouter, deps);
  pageRouter.notFound('/dashboard/{*path}');
}
