/**
 * A child process that charges for a call, responds to its caller as an API process does, and kills itself before a
 * chosen database operation.
 * Arguments: database URI, account id, call id, how the call ends, and the number of the operation before which it
 * kills itself. Prints what the caller would have received.
 */
import { randomBytes } from 'node:crypto';
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { createRefunds } from '../../api/calls/refunds.ts';
import { createKeyring } from '../../platform/secrets/keyring.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { createCalls } from '../../store/calls/calls.ts';
import { createPendingAnswers } from '../../store/calls/pendingAnswers.ts';
import { createResults, mongodbPieces } from '../../store/calls/results.ts';
import { createLedger } from '../../store/ledger/ledger.ts';
import { createPaybacks } from '../../store/ledger/paybacks.ts';
import { openLease } from '../../store/mongo/lease.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { interceptStore } from '../store/intercept.ts';

const [uri = '', accountId = '', callId = '', ending = '', killAt = ''] = process.argv.slice(2);
const PRICE = 10;
const say = (text: string) => writeSync(1, `${text}\n`);
const die = () => process.kill(process.pid, 'SIGKILL');
const fail = (error: unknown) => say(String(error));

const direct = await openStore(uri);
const lease = await openLease(direct, fail);
let operations = 0;
const store = interceptStore(direct, (_name, run) => {
  if (operations++ === Number(killAt)) die();
  return run();
});
const [ledger, accounts] = [createLedger(store, fail, 0), createAccounts(store)];
const answers = createPendingAnswers(store, lease, fail);
const refunds = createRefunds({
  workflow: { result: () => Promise.reject(new Error('not found')) },
  ledger,
  results: createResults(mongodbPieces(store), createKeyring([{ id: 'a', bytes: randomBytes(32) }])),
  calls: createCalls(store),
  answers,
  paybacks: createPaybacks({ store, ledger, accounts }),
  log: pino({ level: 'silent' }),
});

const { call } = await createCalls(store).claim({
  _id: callId,
  accountId,
  keyId: null,
  keyPrefix: null,
  tool: 'hash-text',
  cost: PRICE,
  requestId: `req_${callId}`,
  actsOnWorld: false,
  pendingAnswer: answers.fresh(),
});
const held = await ledger.reserve({
  callId,
  accountId,
  tool: 'hash-text',
  pool: 'cpu',
  price: PRICE,
  maxRunning: null,
});
if (held.status !== 'held') throw new Error(held.status);
const charge = () => ledger.settle({ callId, accountId, wanted: 'charged', nonce: held.nonce });
const deadline = performance.now() + 10_000;
const late = new ServiceError('deadline_exceeded');

async function answer() {
  if (ending === 'given up') return refunds.refundUnlessCharged(call, late, deadline);
  const { available } = await charge();
  if (ending === 'charged and given up') return refunds.refundUnlessCharged(call, late, deadline);
  const result = ending === 'answered' ? { output: {} } : { stored: { id: 'expired', pieces: 1 } };
  return refunds.resultOrRefund(call, { result, available }, deadline);
}
const answered = await answer();
if ('output' in answered.ending) {
  answers.delivered(callId);
  say('result');
  // The database update was issued together with the response; wait until the driver has sent it before the process
  // kills itself.
  await sleep(100);
} else say('error');
await ledger.flush();
await answers.close();
say('survived');
die();
