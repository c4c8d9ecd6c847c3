import test from 'ava';
import { createRedactor } from '../../activities/smtp/redact.ts';
import { issueCertificate } from '../helpers/certificates.ts';
import { recordsAt } from '../helpers/json.ts';
import { good, mailSite, probe, root, stepsOf } from '../helpers/mail.ts';
import { seededRandom } from '../helpers/random.ts';
import { type Peer, startSmtp } from '../helpers/smtp.ts';
import { createMarker, holds } from '../helpers/traces.ts';

const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64');
/** Writes each UTF-8 byte of the text in hexadecimal, after the prefix `mark`. */
const escapeBytes = (text: string, mark: string): string =>
  Array.from(Buffer.from(text), (byte) => mark + byte.toString(16).padStart(2, '0').toUpperCase()).join('');

/** Ways in which a server may encode a text that it repeats. */
const SPELLINGS: Record<string, (text: string) => string | Buffer> = {
  unchanged: (text) => text,
  'in capitals': (text) => text.toUpperCase(),
  'within a word': (text) => `x${text}y`,
  'in base64': base64,
  'in base64 with something before it': (text) => base64(`u=${text};`),
  'in base64 with more before it': (text) => base64(`user=${text};`),
  'in URL-safe base64': (text) => base64(`~~~${text}???`).replaceAll('+', '-').replaceAll('/', '_'),
  'in base64 of a whole sentence': (text) => base64(`The login of ${text} has failed.`),
  'in hexadecimal': (text) => Buffer.from(text).toString('hex'),
  'percent-encoded': (text) => encodeURIComponent(text),
  'percent-encoded, each byte': (text) => escapeBytes(text, '%'),
  'percent-encoded as Python does': (text) =>
    encodeURIComponent(text)
      .replaceAll('%2F', '/')
      .replace(/[!'()*]/g, (char) => escapeBytes(char, '%')),
  'percent-encoded as PHP does': (text) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (char) => escapeBytes(char, '%')),
  'as in a form': (text) => new URLSearchParams([[text, '']]).toString().slice(0, -1),
  'in xtext': (text) => text.replace(/[^!-~]|[+=]/g, (char) => escapeBytes(char, '+')),
  'in quoted-printable': (text) => text.replace(/[^!-~]|=/g, (char) => escapeBytes(char, '=')),
  'as bytes of C': (text) => escapeBytes(text, '\\x'),
  'in JSON': (text) => JSON.stringify(text).replaceAll('/', '\\/'),
  'in JSON of ASCII': (text) =>
    JSON.stringify(text).replace(
      /[^ -~]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  'in HTML': (text) =>
    text.replace(
      /[&<>"']/g,
      (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[char] ?? '&#39;',
    ),
  'in HTML, by number': (text) => Array.from(text, (char) => `&#${char.codePointAt(0)};`).join(''),
  'in HTML, by hexadecimal number': (text) =>
    Array.from(text, (char) => `&#x${char.codePointAt(0)?.toString(16)};`).join(''),
  'with spaces': (text) => [...text].join(' '),
  'in UTF-16': (text) => Buffer.from(text, 'utf16le'),
  'in Latin-1': (text) => Buffer.from(text, 'latin1'),
  'with zero bytes': (text) => [...text].join('\0'),
};

const says = (...parts: (string | Buffer)[]): Buffer => Buffer.concat(parts.map((part) => Buffer.from(part)));
const half = (text: string) => [text.slice(0, text.length / 2), text.slice(text.length / 2)] as const;

/** Follows a client through a session and includes `echo` in every reply since AUTH. */
async function repeat(peer: Peer, echo: string | Buffer): Promise<void> {
  for (;;) {
    const line = await peer.hear();
    const [word = ''] = line.split(' ');
    if (word === 'EHLO') peer.say('250-mail\r\n250 AUTH PLAIN\r\n');
    else if (word === 'QUIT') {
      peer.say(says('221-', echo, '\r\n221 ', echo, '\r\n'));
      return;
    } else peer.say(says('535-', echo, '\r\n535 5.7.8 ', echo, ' ', base64(line), '\r\n'));
  }
}

for (const [how, spell] of Object.entries(SPELLINGS))
  test(`credentials that a server repeats ${how} are redacted`, async (t) => {
    // One marker is the user name, the other the password.
    const [name, word] = [createMarker(), createMarker()];
    const server = await startSmtp(async (peer) => {
      const echo = says(spell(name.text), ' and ', spell(word.text));
      peer.say('220 mail\r\n');
      await repeat(peer, echo);
    });
    try {
      const input = { encryption: 'none', username: name.text, password: word.text };
      const output = await probe(server, input);
      t.deepEqual(
        recordsAt(output.steps).map(({ step, code }) => [step, code]),
        [
          ['connect', null],
          ['banner', 220],
          ['ehlo', 250],
          ['auth', 535],
          ['quit', 221],
        ],
      );
      // Also searches without the separators between characters, because a decoder may remove them.
      const text = JSON.stringify(output);
      for (const visible of [text, text.toLowerCase(), text.replaceAll(/\\ufffd|\ufffd|\s/g, '')])
        for (const marker of [name, word]) t.false(holds(Buffer.from(visible), marker), visible);
      t.regex(text, /\*\*\*/);
    } finally {
      server.close();
    }
  });

test('credentials that a server splits over lines and replies, with reply codes between the parts, are redacted', async (t) => {
  const secret = createMarker();
  const forms = [secret.text, base64(secret.text), base64(`\0tester@example.com\0${secret.text}`)];
  for (const form of forms) {
    const [first, second] = half(form);
    const server = await startSmtp(async (peer) => {
      peer.say('220 mail\r\n');
      await peer.hear();
      peer.say('250-mail\r\n250 AUTH PLAIN\r\n');
      await peer.hear();
      peer.say(
        `535-5.7.8 not ${first}\r\n535-5.7.8 ${second} at all\r\n535-not ${first}\r\n535 ${second}\r\n`,
      );
      await peer.hear();
      peer.say(`221-${first}\r\n221 ${second}\r\n`);
    });
    try {
      const input = { encryption: 'none', username: 'tester@example.com', password: secret.text };
      const { steps } = await probe(server, input);
      const said = recordsAt(steps).map(({ reply }) => String(reply));
      const joined = said.map((reply) => reply.replaceAll(/(^|\n)\d{3}[- ](\d\.\d\.\d )?/g, '')).join('');
      t.false(holds(Buffer.from(joined), secret), joined);
      t.false(said.join().includes(second), said.join());
      t.regex(said[3] ?? '', /^535-5\.7\.8 not \*\*\* at all\n/);
    } finally {
      server.close();
    }
  }
});

test('the digest of CRAM-MD5 that a server repeats is redacted', async (t) => {
  let digest = '';
  const server = await startSmtp(async (peer) => {
    peer.say('220 mail\r\n');
    await peer.hear();
    peer.say('250-mail\r\n250 AUTH CRAM-MD5\r\n');
    await peer.hear();
    peer.say(`334 ${base64('<1@mail>')}\r\n`);
    const response = Buffer.from(await peer.hear(), 'base64').toString();
    digest = response.replace(/.* /, '');
    peer.say(`535-${response}\r\n535 ${digest.toUpperCase()}\r\n`);
    await peer.hear();
    peer.say(`221 Bye ${digest}\r\n`);
  });
  try {
    const input = { encryption: 'none', username: 'tester@example.com', password: 'correct horse' };
    const text = JSON.stringify(await probe(server, input));
    t.regex(digest, /^[0-9a-f]{32}$/);
    t.false(text.toLowerCase().includes(digest), text);
    t.regex(text, /535-\*\*\* \*\*\*\\n535 \*\*\*/);
  } finally {
    server.close();
  }
});

/** User names that are a word of the server's name, as with some relays: its certificate, banner and greeting contain them. */
for (const name of ['resend', 'mail', 'apikey'])
  test(`what a server sent before AUTH is kept, although it contains the user name: ${name}`, async (t) => {
    const host = `smtp.${name}.example.com`;
    const certificate = await issueCertificate({ ...mailSite, subject: `/CN=${host}`, issuer: root });
    const server = await startSmtp(async (peer) => {
      peer.say(`220 ${host} ESMTP\r\n`);
      await peer.hear();
      peer.say(`250-${host}\r\n250 STARTTLS\r\n`);
      await peer.hear();
      peer.say('220 Ready\r\n');
      await peer.secure(certificate);
      await peer.hear();
      peer.say(`250-${host}\r\n250-X-${name.toUpperCase()}\r\n250 AUTH PLAIN LOGIN\r\n`);
      await peer.hear();
      peer.say(`535 5.7.8 Unknown user ${name}\r\n`);
      await peer.hear();
      peer.say('221 Bye\r\n');
    }, 587);
    try {
      const output = await probe(server, { username: name, password: 're_123456789' });
      t.like(output, {
        certificateSubject: `CN=${host}`,
        extensions: [`X-${name.toUpperCase()}`, 'AUTH PLAIN LOGIN'],
      });
      t.deepEqual(
        recordsAt(output.steps)
          .filter(({ step }) => step !== 'tls')
          .map(({ reply }) => reply),
        [
          null,
          `220 ${host} ESMTP`,
          `250-${host}\n250 STARTTLS`,
          '220 Ready',
          `250-${host}\n250-X-${name.toUpperCase()}\n250 AUTH PLAIN LOGIN`,
          '535 5.7.8 Unknown user ***',
          '221 Bye',
        ],
      );
    } finally {
      server.close();
    }
  });

test('short credentials are redacted only as whole words, and other words are kept', async (t) => {
  const server = await startSmtp(async (peer) => {
    await peer.secure(good);
    peer.say('220 me.example.com\r\n');
    await peer.hear();
    peer.say('250-mail\r\n250-8BITMIME\r\n250-SIZE\r\n250 AUTH PLAIN\r\n');
    await peer.hear();
    peer.say(`535 user=me pass=5; ${base64('me')} ${base64('\0me\x005')} 2.5\r\n`);
    await peer.hear();
    peer.say('221 Me too\r\n');
  }, 465);
  try {
    const { extensions, steps } = await probe(server, { username: 'me', password: '5' });
    t.deepEqual(extensions, ['8BITMIME', 'SIZE', 'AUTH PLAIN']);
    t.deepEqual(
      recordsAt(steps).flatMap(({ step, reply }) => (step === 'auth' || step === 'quit' ? [reply] : [])),
      ['535 user=*** pass=***; *** *** 2.***', '221 *** too'],
    );
  } finally {
    server.close();
  }
});

test('a secret is redacted next to any other text, and the other text is kept', (t) => {
  const random = seededRandom(t.log);
  const letters = 'abcXYZ019äß邮 .:-+/=%@';
  const word = (least: number, most: number): string =>
    Array.from({ length: random.integer(least, most) }, () =>
      letters.charAt(random.integer(0, letters.length - 1)),
    ).join('');
  for (let round = 0; round < 2000; round++) {
    const secret = `Q${word(4, 30)}Q`;
    // The text around the secret consists of characters that occur in no encoding of a secret.
    const [before, after] = ['♠'.repeat(random.integer(0, 9)), '♥'.repeat(random.integer(0, 9))];
    const form = [secret, base64(secret), Buffer.from(secret).toString('hex')][random.integer(0, 2)] ?? '';
    const [clean] = createRedactor([secret], [])([before + form + after]);
    const tail = form.endsWith('=') ? /=*/ : /(?:)/;
    t.is(clean?.replace(tail, ''), `${before}***${after}`, JSON.stringify({ secret, form }));
  }
});

test('the first or last part of what was sent is redacted, and the domain of the user name is kept', (t) => {
  const [name, word] = ['relay.user@mail.example.com', 'correct horse battery staple'];
  const sent = base64(`\0${name}\0${word}`);
  const redact = createRedactor([name, word], [sent]);
  const hex = Buffer.from(word).toString('hex');
  for (const part of [
    ...[sent.slice(0, 20), sent.slice(-20), base64(word).slice(-20), base64(word).slice(0, 20)],
    ...[word.slice(-20), word.slice(0, 20).toUpperCase(), hex.slice(-40), hex.slice(0, 40)],
    encodeURIComponent(word).slice(-30),
  ]) {
    const [clean = ''] = redact([`♠${part}♥`]);
    t.regex(clean, /^♠.{0,2}\*\*\*=*♥$/, part);
  }
  const kept = '535 5.7.8 mail.example.com: authentication failed';
  t.deepEqual(redact([kept]), [kept]);
});

for (const [how, spell] of Object.entries(SPELLINGS))
  test(`every character of a password is redacted, ${how}`, (t) => {
    const secret = `aB<c>&"d'e(f)*g!/h\\i=j+k%l ä邮😀#m`;
    const said = Buffer.from(spell(secret)).toString(how === 'in Latin-1' ? 'latin1' : 'utf8');
    const [clean = ''] = createRedactor([secret], [])([`♠${said.replaceAll('\0', '\ufffd')}♥`]);
    t.regex(clean, /^♠[^♥]{0,30}♥$/);
    t.regex(clean, /\*{3}/);
  });

test('in replies of the maximum length, text that resembles the credentials is redacted', async (t) => {
  const secret = createMarker();
  const long = 'x'.repeat(8_000);
  for (const filler of [base64(secret.text).slice(0, -4), secret.text.slice(0, -1), '\u0130\u03a3 ', '-']) {
    const lines = (code: number, count: number, last: string) =>
      `${`${code}-${filler.repeat(2_000).slice(0, 600)}\r\n`.repeat(count)}${code} ${last}\r\n`;
    const server = await startSmtp(async (peer) => {
      peer.say('220 mail\r\n');
      await peer.hear();
      peer.say('250-mail\r\n250 AUTH PLAIN\r\n');
      await peer.hear();
      peer.say(lines(334, 40, ''));
      await peer.hear();
      peer.say(lines(535, 40, `${secret.text} ${long.slice(0, 1_900)}`));
      await peer.hear();
      peer.say('221 bye\r\n');
    });
    try {
      const input = { encryption: 'none', username: secret.text, password: long };
      const output = await probe(server, input);
      const steps = ['connect -', 'banner 220', 'ehlo 250', 'auth 334', 'auth 535 !', 'quit 221'];
      t.deepEqual(stepsOf(output), steps);
      t.false(holds(Buffer.from(JSON.stringify(output)), secret));
      t.regex(String(recordsAt(output.steps)[4]?.reply), /\*{3} \*{3}$/);
    } finally {
      server.close();
    }
  }
});

test('hostile texts do not make redaction slow', (t) => {
  const texts = ['a', '%61+61=61\\x61&#97;'].map((say) =>
    `250-${say.repeat(2000 / say.length)}\n`.repeat(128),
  );
  for (const text of texts)
    for (const password of ['a'.repeat(8192), `b${'a'.repeat(8191)}`, `${'a'.repeat(8191)}b`]) {
      const [clean = ''] = createRedactor(['tester@example.com', password], [])([text]);
      // A search that starts again at each character would take minutes.
      t.true(clean.length <= text.length);
    }
});
