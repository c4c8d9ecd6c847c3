import test from 'ava';
import { generateSigningSecret, signatureHeaders } from '../../schemas/webhookSignature.ts';
import { type Claim, LANGUAGES, verdicts } from '../helpers/verifiers.ts';

const BODIES = [
  '{"id":"evt_1","event":"credits.low","createdAt":"2026-01-31T09:30:00.000+00:00","data":{"balance":24}}',
  '{"name":"Grüße, 世界 🔑"}',
  '',
];

/** Returns a correctly signed delivery with a timestamp this many seconds from now. */
function claim(body: string, seconds = 0): Required<Claim> {
  const secret = generateSigningSecret();
  const timestamp = Math.floor(Date.now() / 1000) + seconds;
  const message = { id: 'evt_1', event: 'credits.low', body, timestamp };
  const headers = new Map(signatureHeaders(message, { own: secret, all: [secret] }));
  return { secret, body, timestamp: `${timestamp}`, signature: headers.get('X-Service-Signature') ?? '' };
}

/** Returns deliveries that receivers accept now. */
const makeGenuine = (): Claim[] => [
  ...BODIES.map((body) => claim(body)),
  claim('late', -200),
  claim('early', 200),
];

/** Returns deliveries that receivers must refuse now. */
function makeForged(): Claim[] {
  const whole = claim(BODIES[0] ?? '');
  const { timestamp, signature, ...bare } = whole;
  return [
    claim('too late', -301),
    claim('too early', 330),
    { ...whole, body: `${whole.body} ` },
    { ...whole, secret: generateSigningSecret() },
    { ...whole, secret: whole.secret.slice('whsec_'.length) },
    { ...whole, timestamp: `${Number(whole.timestamp) + 1}` },
    { ...whole, timestamp: '' },
    { ...whole, timestamp: 'now' },
    { ...whole, timestamp: '9'.repeat(30) },
    // A number beyond the range of doubles, and one of more than 4300 digits, which Python refuses to parse by default.
    { ...whole, timestamp: '9'.repeat(400) },
    { ...whole, timestamp: '9'.repeat(5000) },
    { ...whole, timestamp: whole.timestamp.replaceAll(/\d/g, (digit) => '٠١٢٣٤٥٦٧٨٩'.charAt(Number(digit))) },
    { ...bare, signature },
    { ...bare, timestamp },
    bare,
    { ...whole, signature: '' },
    { ...whole, signature: whole.signature.slice(0, -1) },
    { ...whole, signature: whole.signature.replace('sha256=', '') },
    { ...whole, signature: 'sha256=ü' },
    { ...whole, signature: 'ü'.repeat(whole.signature.length) },
    // A Python server represents a byte of a header that is not UTF-8 as a lone surrogate.
    { ...whole, signature: 'sha256=\udcff' },
  ];
}

for (const language of LANGUAGES)
  test(`the ${language} snippet of docs/webhooks.md accepts only genuine deliveries`, async (t) => {
    t.timeout(175_000);
    t.deepEqual(await verdicts(language, () => [...makeGenuine(), ...makeForged()]), [
      ...makeGenuine().map(() => true),
      ...makeForged().map(() => false),
    ]);
  });
