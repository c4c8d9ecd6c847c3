import type { Readiness } from '../../../platform/readiness.ts';
import type { Pack } from '../../../schemas/formats/packs.ts';
import type { Broadcasts } from '../../../store/accounts/broadcast.ts';
import type { Invoices } from '../../../store/billing/invoices.ts';
import type { Payments } from '../../../store/billing/payments.ts';
import type { TopUpRuns } from '../../../store/billing/topUpRuns.ts';
import type { TopUps } from '../../../store/billing/topUps.ts';
import type { CallContents } from '../../../store/calls/callContents.ts';
import type { Connections } from '../../../store/keys/connections.ts';
import type { Incidents } from '../../../store/status/incidents.ts';
import type { ExportAccount } from '../../account/exportAccount.ts';
import type { Keys } from '../../account/keyService.ts';
import type { Auth } from '../../auth/auth.ts';
import type { ForwardToAuth } from '../../auth/authRoutes.ts';
import type { ConfirmPassword } from '../../auth/confirmPassword.ts';
import type { DeviceLogin } from '../../auth/deviceLogin.ts';
import type { OauthServer } from '../../auth/oauthServer.ts';
import type { PasskeySteps } from '../../auth/passkeySteps.ts';
import type { Sessions } from '../../auth/sessions.ts';
import type { BatchService } from '../../batches/batchService.ts';
import type { BatchDownloads } from '../../batches/downloadRoutes.ts';
import type { BatchEvents } from '../../batches/eventRoutes.ts';
import type { StripeService } from '../../billing/stripeService.ts';
import type { ToolCallService } from '../../calls/run.ts';
import type { ApiCore } from '../../core.ts';
import type { TransferLimit } from '../../http/transferLimit.ts';
import type { JobService } from '../../jobs/jobService.ts';
import type { Mails } from '../../mail/messages.ts';
import type { ScheduleService } from '../../schedules/scheduleService.ts';
import type { TopUpService } from '../../topUps/topUpService.ts';
import type { Webhooks } from '../../webhooks/webhookService.ts';
import type { PageRouter } from './pageRouter.ts';

/** The services of other areas of the API that the dashboard uses. */
export interface DashboardServices {
  auth: Auth;
  sessions: Sessions;
  forwardToAuth: ForwardToAuth;
  confirmPassword: ConfirmPassword;
  passkeySteps: PasskeySteps;
  oauth: OauthServer;
  connections: Connections;
  deviceLogin: DeviceLogin;
  keys: Keys;
  exportAccount: ExportAccount;
  toolCallService: ToolCallService;
  contents: CallContents;
  jobService: JobService;
  batchService: BatchService;
  batchUploads: TransferLimit;
  batchDownloads: BatchDownloads;
  batchEvents: BatchEvents;
  scheduleService: ScheduleService;
  payments: Payments;
  topUps: TopUps;
  /** Null if programs cannot buy credits. */
  topUpService: TopUpService | null;
  invoices: Invoices;
  /** Whether purchases get an invoice. */
  issuesInvoices: boolean;
  topUpRuns: TopUpRuns;
  /** Packs on sale. */
  packs: readonly Pack[];
  /** Null if Stripe is not configured. */
  stripe: StripeService | null;
  webhooks: Webhooks;
  mails: Mails;
  incidents: Incidents;
  readiness(): Promise<Readiness>;
}

/** The dependencies of the pages. Each page takes those that it needs. */
export interface Dashboard extends DashboardServices {
  core: ApiCore;
  pages: PageRouter;
  /** Registers the routes of pages that exist for operators only. */
  operatorPages: Pick<PageRouter, 'get' | 'post'>;
  broadcasts: Broadcasts;
}
