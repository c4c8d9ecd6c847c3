type Json = Readonly<Record<string, unknown>>;

/** Example request body and response of an operation. Operations without either have no entry. */
interface OperationExample {
  request?: Json;
  response?: Json;
}

const CREATED = '2026-11-02T09:15:00.000Z';
const LATER = '2026-11-03T14:30:12.480Z';
/** Ids in example URLs, by the segment of the path before the id. */
export const ITEM_EXAMPLES = {
  batches: 'batch_3f0c5b7e-1d2a-4e8b-9c64-7a5f0e2d8b31',
  calls: 'call_7d1f5a52-0c9b-4c3e-8a76-2f0e9d4b1c35',
  files: 'file_2c1d9c0e-5b6f-4a3d-8e71-0f9b6a4d3c25',
  jobs: 'call_7d1f5a52-0c9b-4c3e-8a76-2f0e9d4b1c35',
  keys: 'key_0b8f6c1e-6f0e-4f7e-9a52-3b1d5c0e8f11',
  schedules: 'sch_8c1d2e3f-4a5b-4c6d-8e7f-9a0b1c2d3e4f',
  webhooks: 'whe_5d0c2c9e-7f0b-4b5e-8d37-4f2a8e9b6c10',
} as const;
const { keys: KEY_ID, webhooks: ENDPOINT_ID, jobs: CALL_ID } = ITEM_EXAMPLES;
const EVENT_ID = 'evt_c56a4180-65aa-42ec-a945-5fd21dec0538';
const DELIVERY_ID = 'dlv_9e107d9d372bb6826bd81d3542a419d6';

const page = (row: Json): Json => ({ items: [row], nextCursor: null });

const key: Json = {
  id: KEY_ID,
  name: 'website',
  prefix: 'ut_4kQz7B',
  scopes: ['tools'],
  tools: ['website-screenshot', 'hash-text'],
  createdAt: CREATED,
  lastUsedAt: LATER,
  lastUsedFrom: '203.0.113.7',
  expiresAt: null,
  dailyBudget: 500,
  monthlyBudget: null,
  rateLimit: null,
  allowedNetworks: ['203.0.113.0/24'],
  spentToday: 75,
  spentThisMonth: 410,
  previousSecret: null,
  revokedAt: null,
};
/** A new key. The value shows the form of keys; its checksum is wrong. */
const newKey: Json = {
  ...key,
  lastUsedAt: null,
  lastUsedFrom: null,
  spentToday: 0,
  spentThisMonth: 0,
  key: 'ut_4kQz7B…',
};

const call: Json = {
  id: CALL_ID,
  tool: 'website-screenshot',
  cost: 25,
  charged: 25,
  state: 'charged',
  code: null,
  startedAt: LATER,
  durationMs: 2140,
  keyPrefix: 'ut_4kQz7B',
  phases: { accept: 2, queue: 0, reserve: 9, wait: 21, run: 2090, settle: 20, respond: 4 },
  resultFrom: null,
};

const refusal: Json = {
  id: '6908b1f39c2e4d0012ab34cd',
  code: 'invalid_input',
  tool: 'website-screenshot',
  keyPrefix: 'ut_4kQz7B',
  count: 3,
  firstAt: '2026-11-03T14:02:51.000Z',
  lastAt: LATER,
  faults: [{ pointer: '/width', message: 'must be at least 320' }],
  requestIds: ['req_8f14e45f-ceea-467f-a0e6-5b4c8e0f1a2b'],
};

const entry: Json = {
  id: 'ent_2c6ee24b-0977-4d1a-9d35-8a7f6b1c0e42',
  at: LATER,
  type: 'charge',
  amount: -25,
  balanceAfter: 840,
  callId: CALL_ID,
  tool: 'website-screenshot',
  source: null,
  reference: null,
};

const endpoint: Json = {
  id: ENDPOINT_ID,
  url: 'https://shop.example.com/hooks/credits',
  events: ['credits.low', 'credits.exhausted'],
  state: 'active',
  consecutiveFailures: 0,
  createdAt: CREATED,
  disabledAt: null,
  rotationEndsAt: null,
};

const attempt: Json = {
  id: 'att_1b6453892473a467d07372d45eb05abc',
  deliveryId: DELIVERY_ID,
  eventId: EVENT_ID,
  event: 'credits.low',
  attempt: 1,
  at: LATER,
  statusCode: 204,
  durationMs: 84,
  error: null,
  responseBody: '',
  url: 'https://shop.example.com/hooks/credits',
  requestHeaders: [{ name: 'X-Service-Event', value: 'credits.low' }],
  responseHeaders: [{ name: 'date', value: 'Tue, 03 Nov 2026 14:30:12 GMT' }],
};

const event: Json = {
  id: EVENT_ID,
  event: 'credits.low',
  createdAt: LATER,
  data: { balance: 24, threshold: 25, message: 'Only 24 credits are left.' },
  test: false,
  deliveries: [{ id: DELIVERY_ID, endpointId: ENDPOINT_ID, state: 'delivered', attempts: 1, nextAt: null }],
};

const job: Json = {
  id: CALL_ID,
  tool: 'website-screenshot',
  state: 'succeeded',
  createdAt: LATER,
  startedAt: '2026-11-03T14:30:13.002Z',
  endedAt: '2026-11-03T14:30:15.310Z',
  cost: 25,
  charged: 25,
  code: null,
  metadata: { order: '4711' },
  resultUrl: `/api/v1/jobs/${CALL_ID}/result`,
  callback: null,
};
const queuedJob: Json = { ...job, state: 'queued', startedAt: null, endedAt: null, charged: 0 };

const file: Json = {
  id: ITEM_EXAMPLES.files,
  name: 'menu.pdf',
  sizeBytes: 48_213,
  sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  type: 'application/pdf',
  expiresAt: LATER,
};

const SCHEDULE_ID = ITEM_EXAMPLES.schedules;
const target = { tool: 'web-scrape', input: { url: 'https://bakery.example.com/menu' } };
const schedule: Json = {
  id: SCHEDULE_ID,
  name: 'menu of the bakery',
  cron: '0 7 * * mon-fri',
  timeZone: 'Europe/Berlin',
  tools: ['web-scrape'],
  job: target,
  batch: null,
  overlap: 'skip',
  onChange: 'changed',
  callbackUrl: 'https://shop.example.com/hooks/menu',
  paused: false,
  pauseReason: null,
  cost: 3,
  createdAt: CREATED,
  nextAt: '2026-11-04T06:00:00.000Z',
};
const run: Json = {
  id: 'run_9e107d9d372bb6826bd81d3542a419d6',
  scheduleId: SCHEDULE_ID,
  dueAt: '2026-11-03T06:00:00.000Z',
  origin: 'clock',
  state: 'succeeded',
  code: null,
  jobId: CALL_ID,
  batchId: null,
  startedAt: '2026-11-03T06:00:00.412Z',
  endedAt: '2026-11-03T06:00:02.105Z',
  charged: 3,
  changed: true,
  difference: {
    added: 1,
    removed: 0,
    lines: [{ change: 'added', text: 'Pumpkin bread: 4.20' }],
    picture: null,
  },
};

const BATCH_ID = ITEM_EXAMPLES.batches;
const batch: Json = {
  id: BATCH_ID,
  state: 'running',
  pauseReason: null,
  createdAt: LATER,
  endedAt: null,
  expiresAt: '2026-11-06T14:30:12.480Z',
  counts: { rows: 2, open: 1, charged: 1, refused: 0, cancelled: 0 },
  credits: { charged: 25, total: 50, max: 100 },
  rate: 0.5,
  estimatedEndAt: '2026-11-03T14:30:16.480Z',
  order: 'input',
  onEmptyBalance: 'pause',
  metadata: { order: '4711' },
  resultsUrl: `/api/v1/batches/${BATCH_ID}/results`,
  manifestUrl: `/api/v1/batches/${BATCH_ID}/manifest`,
};
const sums: Json = { rows: 2, charged: 1, refused: 1, cancelled: 0, credits: 25 };
const manifest: Json = {
  id: BATCH_ID,
  state: 'completed',
  createdAt: LATER,
  endedAt: '2026-11-03T14:30:16.480Z',
  ...sums,
  tools: [{ name: 'website-screenshot', ...sums }],
  input: { sha256: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', bytes: 128 },
  output: {
    sha256: '486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7',
    missing: 0,
  },
};

const CALLBACK_ID = 'cbk_5b0f6a0e-2f0b-4b62-9d3c-0c5f6f1d2a3b';
const callback: Json = {
  id: CALLBACK_ID,
  createdAt: LATER,
  url: 'https://shop.example.com/hooks/done',
  state: 'failed',
  attempts: 1,
  statusCode: 503,
  error: null,
  history: [{ attempt: 1, at: LATER, statusCode: 503, error: null }],
};
const resent: Json = { queued: 1 };

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw…';

/** Examples by operationId; the reference shows them, and a test compares them with the schemas. */
export const OPERATION_EXAMPLES: Readonly<Record<string, OperationExample>> = {
  createJob: {
    request: {
      tool: 'website-screenshot',
      input: { url: 'https://bakery.example.com/' },
      metadata: { order: '4711' },
    },
    response: queuedJob,
  },
  listJobs: { response: page(job) },
  getJob: { response: job },
  getJobResult: {
    response: {
      algorithm: 'sha256',
      hash: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    },
  },
  listJobCallbacks: { response: page({ ...callback, event: 'job.completed' }) },
  resendJobCallbacks: { response: resent },
  createBatch: {
    request: {
      tool: 'website-screenshot',
      inputs: [{ url: 'https://bakery.example.com/' }, { url: 'https://bakery.example.com/menu' }],
      maxCredits: 100,
      metadata: { order: '4711' },
    },
    response: {
      ...batch,
      counts: { rows: 2, open: 2, charged: 0, refused: 0, cancelled: 0 },
      credits: { charged: 0, total: 50, max: 100 },
      rate: null,
      estimatedEndAt: null,
    },
  },
  listBatches: { response: page(batch) },
  getBatch: { response: batch },
  getBatchManifest: { response: manifest },
  listBatchCallbacks: { response: page({ ...callback, event: 'batch.completed' }) },
  resendBatchCallbacks: { request: { callbackIds: [CALLBACK_ID] }, response: resent },
  pauseBatch: {
    response: { ...batch, state: 'paused', pauseReason: 'requested', rate: null, estimatedEndAt: null },
  },
  resumeBatch: { request: { maxCredits: 500 }, response: batch },
  createFile: { response: file },
  listFiles: { response: page(file) },
  getFile: { response: file },
  createSchedule: {
    request: {
      name: 'menu of the bakery',
      cron: '0 7 * * mon-fri',
      timeZone: 'Europe/Berlin',
      job: target,
      onChange: 'changed',
      callbackUrl: 'https://shop.example.com/hooks/menu',
    },
    response: schedule,
  },
  listSchedules: { response: page(schedule) },
  getSchedule: { response: schedule },
  changeSchedule: {
    request: { cron: '30 7 * * mon-fri' },
    response: { ...schedule, cron: '30 7 * * mon-fri' },
  },
  listScheduleRuns: { response: page(run) },
  triggerSchedule: {
    response: {
      ...run,
      origin: 'trigger',
      state: 'waiting',
      jobId: null,
      startedAt: null,
      endedAt: null,
      charged: 0,
      changed: null,
      difference: null,
    },
  },
  backfillSchedule: {
    request: { from: '2026-10-26T00:00:00Z', to: '2026-11-01T23:59:59Z' },
    response: { times: 5, added: 5 },
  },
  listScheduleCallbacks: { response: page({ ...callback, event: 'schedule.changed' }) },
  resendScheduleCallbacks: { request: { callbackIds: [CALLBACK_ID] }, response: resent },
  getCallbackSecret: { response: { secret: SECRET, nextSecret: null, nextFrom: null } },
  rotateCallbackSecret: {
    request: { force: false },
    response: { secret: SECRET, nextSecret: 'whsec_C2FVsBQIhrscChlQIMV…', nextFrom: LATER },
  },
  getAccount: {
    response: {
      id: 'acc_6f1ed002-ab55-4c1e-9b3d-5d1a2f7c8e90',
      email: 'jane@example.com',
      balance: 865,
      reserved: 25,
      available: 840,
      lowThreshold: 25,
      monthlyAllowance: 0,
      jobs: { open: 2, maxOpen: 1000, storedBytes: 1_284_096, maxStoredBytes: 1_073_741_824 },
      files: { count: 1, storedBytes: 48_213, maxStoredBytes: 1_073_741_824 },
    },
  },
  listCalls: { response: page(call) },
  getReceipt: {
    response: {
      receipt: 'eyJhbGciOiJFZERTQSIsInR5cCI6InJlY2VpcHQrandzIiwia2lkIjoiUjh…',
      inputKey: 'b4Q5xN2l0uJc8mT6h3Zr1vWgYpKfA7sEdOiXqLnUeBk',
      outputKey: 'Zk0Wm3cVtQy9rHj5PzL2xGdN8sBfUaRi7oEuTnKq1Xw',
    },
  },
  getReceiptKeys: {
    response: {
      keys: [
        {
          kty: 'OKP',
          crv: 'Ed25519',
          alg: 'EdDSA',
          use: 'sig',
          kid: 'R8wPq0mD4nT1yZc6uVb9XeKjLhGfSa3oIi5tNlYkCxM',
          x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
        },
      ],
    },
  },
  listRefusals: { response: page(refusal) },
  listLedger: { response: page(entry) },
  listKeys: { response: page(key) },
  createKey: {
    request: { name: 'website', scopes: ['tools'], tools: ['website-screenshot'], dailyBudget: 500 },
    response: { ...newKey, tools: ['website-screenshot'], allowedNetworks: null },
  },
  getKey: { response: key },
  changeKey: { request: { dailyBudget: 1000 }, response: { ...key, dailyBudget: 1000 } },
  rotateKey: {
    request: { overlapHours: 48 },
    response: {
      ...key,
      previousSecret: { prefix: 'ut_4kQz7B', expiresAt: '2026-11-05T14:30:12.480Z' },
      prefix: 'ut_9WmT2x',
      key: 'ut_9WmT2x…',
    },
  },
  listEvents: { response: page(event) },
  listWebhooks: { response: page(endpoint) },
  createWebhook: {
    request: {
      url: 'https://shop.example.com/hooks/credits',
      events: ['credits.low', 'credits.exhausted'],
    },
    response: { ...endpoint, secret: SECRET },
  },
  getWebhook: { response: endpoint },
  changeWebhook: {
    request: { events: ['credits.low'] },
    response: { ...endpoint, events: ['credits.low'] },
  },
  testWebhook: { request: { event: 'credits.low' }, response: attempt },
  enableWebhook: { response: endpoint },
  rotateSecret: { request: { force: false }, response: { secret: SECRET } },
  activateSecret: { response: endpoint },
  resendDeliveries: { request: { since: CREATED }, response: { queued: 12 } },
  listAttempts: { response: page(attempt) },
  listTools: {
    response: {
      items: [
        {
          name: 'hash-text',
          title: 'Hash text',
          description: 'Computes the hash of a text.',
          price: 1,
          pool: 'cpu',
          input: { type: 'object' },
          output: { type: 'object' },
        },
      ],
    },
  },
  getLiveness: { response: { status: 'ok' } },
};
