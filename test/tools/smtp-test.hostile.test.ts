import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import test from 'ava';
import { createReplyReader } from '../../activities/smtp/reply.ts';
import type { Socket } from '../../egress/guard.ts';
import { type Certificate, issueCertificate, retime } from '../helpers/certificates.ts';
import { codeOf, never } from '../helpers/egress.ts';
import { recordsAt } from '../helpers/json.ts';
import { good, mailSite, probe, stepsOf } from '../helpers/mail.ts';
import { type Peer, type ScriptedSmtp, serve, startSmtp } from '../helpers/smtp.ts';

type Script = (peer: Peer) => Promise<void> | void;
type Output = Record<string, unknown>;

const credentials = { username: 'tester@example.com', password: 'correct horse' };

/** Runs the tool against a server that follows the script. */
async function against(script: Script, body: Output = {}, ms?: number) {
  const server = await startSmtp(script);
  try {
    return { output: await probe(server, body, ms), heard: server.heard };
  } finally {
    server.close();
  }
}

/** Returns the lines with AUTH commands that a server received. */
const authLines = ({ heard }: Pick<ScriptedSmtp, 'heard'>) => heard.filter((line) => /^AUTH/i.test(line));
const replyOf = (output: Output, step: string) =>
  recordsAt(output.steps).findLast((row) => row.step === step)?.reply;

/** Sends a banner, offers STARTTLS and starts TLS; before the handshake it sends `go` in plaintext. */
async function upgrade(peer: Peer, go: string | Buffer = '220 go\r\n', certificate: Certificate = good) {
  peer.say('220 mail\r\n');
  await peer.hear();
  peer.say('250-mail\r\n250 STARTTLS\r\n');
  await peer.hear();
  peer.say(go);
  await peer.secure(certificate);
}

const HELLO = ['connect -', 'banner 220', 'ehlo 250'];
const UPGRADED = [...HELLO, 'starttls 220', 'tls -', 'ehlo 250'];

test('plaintext after the reply to STARTTLS is reported and discarded, and no credentials follow', async (t) => {
  for (const injected of ['250-evil\r\n250 AUTH PLAIN\r\n', '2', 'x'.repeat(5000)]) {
    const { output, heard } = await against(async (peer) => {
      await upgrade(peer, `220 go\r\n${injected}`);
      await serve(peer);
    }, credentials);
    t.like(output, { flags: ['starttls_injection'], encryption: 'starttls', certificateValid: true });
    t.like(output, { authAttempted: true, authSucceeded: false, extensions: ['AUTH PLAIN LOGIN'] });
    t.deepEqual(stepsOf(output), [...UPGRADED, 'auth - !', 'quit 221']);
    t.deepEqual(authLines({ heard }), []);
  }
});

test('plaintext after the reply to STARTTLS is also detected in a separate packet', async (t) => {
  const connected = Promise.withResolvers<Socket>();
  const [banner, offer, go] = ['220 mail\r\n', '250-mail\r\n250 STARTTLS\r\n', '220 go\r\n'];
  const server = await startSmtp(async (peer) => {
    peer.say(banner);
    await peer.hear();
    peer.say(offer);
    await peer.hear();
    peer.say(go);
    const client = await connected.promise;
    while (client.bytesRead < (banner + offer + go).length) await nextTurn();
    peer.say('250 evil\r\n');
    await peer.secure(good);
    await serve(peer);
  });
  t.teardown(() => server.close());
  const output = await probe({ ...server, onConnect: connected.resolve });
  t.like(output, { flags: ['starttls_injection'], encryption: 'starttls', extensions: ['AUTH PLAIN LOGIN'] });
});

test('data that arrives in time is detected, although the event loop is late', async (t) => {
  const connected = Promise.withResolvers<Peer>();
  const server = await startSmtp(async (peer) => {
    connected.resolve(peer);
    await silent(peer);
  });
  const client = connect(server.port, server.address);
  t.teardown(() => {
    client.destroy();
    server.close();
  });
  const peer = await connected.promise;
  const reader = createReplyReader(client);
  for (const wait of [reader.drain, reader.hasMore]) {
    const found = wait(5, never);
    peer.say('250 evil\r\n');
    const late = performance.now() + 20;
    while (performance.now() < late);
    t.true(await found);
  }
});

test('capabilities announced before STARTTLS are ignored after it', async (t) => {
  const { output, heard } = await against(async (peer) => {
    await upgrade(peer);
    await serve(peer, { EHLO: '250 mail\r\n' });
  }, credentials);
  t.like(output, { flags: [], extensions: [], authMechanisms: [] });
  t.deepEqual(stepsOf(output), [...UPGRADED, 'auth - !', 'quit 221']);
  t.deepEqual(authLines({ heard }), []);
});

for (const code of [421, 454, 501, 554])
  test(`if STARTTLS is refused with ${code}, no credentials are sent in plaintext`, async (t) => {
    const { output, heard } = await against(async (peer) => {
      peer.say('220 mail\r\n');
      await serve(peer, {
        EHLO: '250-mail\r\n250-STARTTLS\r\n250 AUTH PLAIN\r\n',
        STARTTLS: `${code} TLS not available\r\n`,
      });
    }, credentials);
    t.like(output, { encryption: 'none', authSucceeded: false, extensions: ['STARTTLS', 'AUTH PLAIN'] });
    const end = code === 421 ? [] : ['quit 221'];
    t.deepEqual(stepsOf(output), [...HELLO, `starttls ${code} !`, 'auth - !', ...end]);
    t.deepEqual(authLines({ heard }), []);
  });

test('a failed handshake after STARTTLS is reported in the output, and nothing more is sent in plaintext', async (t) => {
  for (const answer of ['no TLS here\r\n', Buffer.from([21, 3, 3, 0, 2, 2, 40])]) {
    const { output, heard } = await against(async (peer) => {
      peer.say('220 mail\r\n');
      await serve(peer, { EHLO: '250-mail\r\n250-STARTTLS\r\n250 AUTH PLAIN\r\n', STARTTLS: null });
      peer.say('220 go\r\n');
      await peer.sent();
      peer.say(answer);
      for (;;) await peer.hear();
    }, credentials);
    t.deepEqual(stepsOf(output), [...HELLO, 'starttls 220', 'tls - !']);
    t.like(output, { encryption: 'none', certificateValid: null, authSucceeded: false });
    t.like(output, { extensions: ['STARTTLS', 'AUTH PLAIN'], authMechanisms: ['PLAIN'] });
    t.deepEqual(authLines({ heard }), []);
  }
});

test('a server that disconnects before the handshake is detected at once', async (t) => {
  for (const ending of [() => undefined, (peer: Peer) => peer.reset()]) {
    const { output } = await against(async (peer) => {
      peer.say('220 mail\r\n');
      await serve(peer, { EHLO: '250-mail\r\n250 STARTTLS\r\n', STARTTLS: null });
      peer.say('220 go\r\n');
      await peer.sent();
      ending(peer);
    }, credentials);
    t.deepEqual(stepsOf(output), [...HELLO, 'starttls 220', 'tls - !']);
    t.is(replyOf(output, 'tls'), 'The target closed the connection too early.');
  }
});

test('TLS without encryption is refused, because it would expose the credentials', async (t) => {
  const own = await issueCertificate({ ...mailSite, bits: 2048 });
  const plain = { ...own, maxVersion: 'TLSv1.2', ciphers: 'NULL-SHA256:@SECLEVEL=0' };
  const { output, heard } = await against(async (peer) => {
    await upgrade(peer, '220 go\r\n', plain);
    await serve(peer);
  }, credentials);
  t.deepEqual(stepsOf(output), [...HELLO, 'starttls 220', 'tls - !']);
  t.deepEqual(authLines({ heard }), []);
});

test('a certificate with invalid dates is reported as unreadable', async (t) => {
  for (const certificate of [retime(good, '259924000000Z', null), retime(good, null, '271322000000Z')]) {
    const { output } = await against(async (peer) => {
      await upgrade(peer, '220 go\r\n', certificate);
      await serve(peer);
    });
    t.deepEqual(stepsOf(output), [...HELLO, 'starttls 220', 'tls - !']);
    t.is(replyOf(output, 'tls'), 'The certificate cannot be read.');
  }
});

test('replies that arrive before their command are discarded, and later replies are matched to the right command', async (t) => {
  const early = ['250 hello\r\n', '250-a\r\n250 STARTTLS\r\n250 b\r\n', '500 what?\r\n'];
  for (const text of early) {
    const { output } = await against(async (peer) => {
      peer.say(`220 mail\r\n${text}`);
      await serve(peer);
    }, credentials);
    t.deepEqual(stepsOf(output).slice(0, 4), [
      ...['connect -', 'banner 220'],
      `unsolicited ${text.trimEnd().split('\r\n').at(-1)?.slice(0, 3)} !`,
      'ehlo 250',
    ]);
    t.is(replyOf(output, 'unsolicited'), text.trimEnd().replaceAll('\r\n', '\n'));
    t.like(output, { flags: ['early_reply'], extensions: ['AUTH PLAIN LOGIN'] });
  }
  // Early replies in the middle of the conversation, also over TLS.
  const { output } = await against(async (peer) => {
    await upgrade(peer);
    await serve(peer, { EHLO: '250-mail\r\n250 AUTH PLAIN\r\n235 welcome\r\n', AUTH: '535 no\r\n' });
  }, credentials);
  t.deepEqual(stepsOf(output), [...UPGRADED, 'unsolicited 235 !', 'auth 535 !', 'quit 221']);
  t.like(output, { flags: ['early_reply'], authSucceeded: false });
});

test('a 421 that follows the banner ends the conversation', async (t) => {
  const { output } = await against(async (peer) => {
    peer.say('220 mail\r\n421 4.3.2 Shutting down\r\n');
    await peer.hear();
  });
  t.deepEqual(stepsOf(output), ['connect -', 'banner 220', 'ehlo 421 !']);
  t.like(output, { flags: [] });
});

test('multi-line banners are read, and refusing banners are reported', async (t) => {
  const banner = '220-mail.example.com ESMTP\r\n220-No spam.\r\n220 Go on.\r\n';
  const { output } = await against(async (peer) => {
    peer.say(banner);
    await serve(peer);
  });
  t.is(replyOf(output, 'banner'), banner.replaceAll('\r\n', '\n').trimEnd());
  for (const [refusal, steps] of [
    ['421 4.3.2 Too busy', ['connect -', 'banner 421 !']],
    ['554 5.7.1 You are listed', ['connect -', 'banner 554 !', 'quit 221']],
  ] as const) {
    const refused = await against(async (peer) => {
      peer.say(`${refusal}\r\n`);
      await serve(peer);
    }, credentials);
    t.deepEqual(stepsOf(refused.output), steps);
    t.is(replyOf(refused.output, 'banner'), refusal);
    t.like(refused.output, { encryption: 'none', authAttempted: true, authSucceeded: false, extensions: [] });
    t.deepEqual(authLines(refused), []);
  }
});

test('a banner that is not SMTP makes the call fail', async (t) => {
  for (const [banner, code] of [
    ['SSH-2.0-OpenSSH_9.2\r\n', 'target_failed'],
    ['* OK IMAP4rev1\r\n', 'target_failed'],
    ['HTTP/1.1 400 Bad Request\r\n\r\n', 'target_failed'],
    ['999 what\r\n', 'target_failed'],
    ['220mail\r\n', 'target_failed'],
    ['220-a\r\n221 b\r\n', 'target_failed'],
    ['220-a\r\nb\r\n', 'target_failed'],
    ['\r\n', 'target_failed'],
    ['', 'target_failed'],
    ['220 half', 'target_failed'],
    [`220 ${'x'.repeat(12_288)}\r\n`, 'target_failed'],
    ['x'.repeat(13_000), 'target_failed'],
    [`${'220-x\r\n'.repeat(100)}220 x\r\n`, 'target_failed'],
    [`220 ${'x'.repeat(12_282)}\r\n`, 'ok'],
    [`${'220-x\r\n'.repeat(99)}220 x\r\n`, 'ok'],
    ['220\r\n', 'ok'],
    ['220 bare line feed\n', 'ok'],
  ] as const) {
    const script: Script = async (peer) => {
      peer.say(banner);
      if (code === 'ok') await serve(peer);
    };
    t.is(await codeOf(() => against(script)), code, JSON.stringify(banner.slice(0, 40)));
  }
});

test('a malformed reply after the greeting is reported in the output', async (t) => {
  for (const [answer, why] of [
    ['no code\r\n', 'The target does not speak SMTP.'],
    ['250-a\r\n251 b\r\n', 'The lines of a reply have different codes.'],
    [`250 ${'x'.repeat(12_288)}\r\n`, 'A line of the reply is longer than 12 KB.'],
    ['x'.repeat(13_000), 'A line of the reply is longer than 12 KB.'],
    ['250-x\r\n'.repeat(150), 'The reply has more than 100 lines.'],
  ] as const) {
    const { output } = await against(async (peer) => {
      peer.say('220 mail\r\n');
      await serve(peer, { EHLO: answer });
    });
    t.deepEqual(stepsOf(output), ['connect -', 'banner 220', 'ehlo - !']);
    t.is(replyOf(output, 'ehlo'), why);
  }
});

test('a server that sends far too much ends the call, which reads little of the data', async (t) => {
  let megabytes = 0;
  const { output } = await against(async (peer) => {
    const block = Buffer.alloc(1_000_000, '250-x\r\n');
    for (; megabytes < 100; megabytes++) await peer.flush(block);
  }).catch((error: unknown) => ({ output: { error } }));
  t.truthy(output.error, 'the banner alone has too many lines');
  t.true(megabytes < 20, `${megabytes} MB, some of which are in the buffers of the kernel`);
  const line = `250-${'x'.repeat(2000)}\r\n`;
  const long = `${line.repeat(99)}250 x\r\n`;
  const many = await against(async (peer) => {
    peer.say(`${`220-${'x'.repeat(2000)}\r\n`.repeat(99)}220 x\r\n`);
    await serve(peer, { EHLO: long });
  });
  t.is(replyOf(many.output, 'ehlo'), 'The replies are longer than 256 KB.');
});

test('a server that does not support EHLO or refuses it is reported in the output', async (t) => {
  const old = await against(async (peer) => {
    peer.say('220 mail\r\n');
    await serve(peer, { EHLO: '502 5.5.1 no\r\n', HELO: '250 mail\r\n' });
  }, credentials);
  const helo = ['connect -', 'banner 220', 'ehlo 502 !', 'helo 250'];
  t.deepEqual(stepsOf(old.output), [...helo, 'starttls - !', 'auth - !', 'quit 221']);
  t.like(old.output, { encryption: 'none', extensions: [], authMechanisms: [] });
  const refusing = await against(async (peer) => {
    peer.say('220 mail\r\n');
    await serve(peer, { EHLO: '550 5.7.1 go away\r\n', HELO: '550 5.7.1 go away\r\n' });
  });
  t.deepEqual(stepsOf(refusing.output), ['connect -', 'banner 220', 'ehlo 550 !', 'helo 550 !', 'quit 221']);
});

test('after any refusal of EHLO, HELO is sent, as swaks does; after the end of the session it is not', async (t) => {
  for (const code of [251, 354, 450, 451, 454, 500, 501, 502, 503, 504, 521, 550, 554]) {
    const { output } = await against(async (peer) => {
      peer.say('220 mail\r\n');
      await serve(peer, { EHLO: `${code} no\r\n`, HELO: '250 mail\r\n' });
    });
    t.deepEqual(stepsOf(output).slice(1, 4), ['banner 220', `ehlo ${code} !`, 'helo 250']);
  }
  const { output } = await against(async (peer) => {
    peer.say('220 mail\r\n');
    await serve(peer, { EHLO: '421 later\r\n' });
  });
  t.deepEqual(stepsOf(output), ['connect -', 'banner 220', 'ehlo 421 !']);
});

test('extensions are listed as announced, and mechanisms are read in both spellings', async (t) => {
  const { output } = await against(async (peer) => {
    peer.say('220 mail\r\n');
    await serve(peer, {
      EHLO: '250-mail says hello\r\n250-size 1000\r\n250-AUTH=LOGIN\r\n250-\r\n250-auth plain  LOGIN\r\n250 X-Extra a b\r\n',
    });
  });
  t.deepEqual(output.extensions, ['size 1000', 'AUTH=LOGIN', 'auth plain  LOGIN', 'X-Extra a b']);
  t.deepEqual(output.authMechanisms, ['LOGIN', 'PLAIN']);
});

test('8-bit bytes and control characters in replies are returned safely', async (t) => {
  const { output } = await against(async (peer) => {
    peer.say(Buffer.from('220-Grüße 邮\r\n220-\x1b[31mred\0\r\n220 a\tb\r\n'));
    await serve(peer, { EHLO: Buffer.from('250-Gr\xfc\xdfe\r\n250 SIZE\r\n', 'latin1') });
  });
  t.is(replyOf(output, 'banner'), '220-Grüße 邮\n220-\ufffd[31mred\ufffd\n220 a\tb');
  t.is(replyOf(output, 'ehlo'), '250-Grüße\n250 SIZE');
});

/**
 * For each server behaviour: the replies that the server sends before it falls silent, disconnects or sends single
 * bytes slowly ("drips"), and the stages that the call reaches.
 */
const STOPS: readonly [string, Script, string[] | null][] = [
  ['at the banner', () => undefined, null],
  ['within the banner', (peer) => peer.say('220-mail\r\n'), null],
  [
    'at EHLO',
    async (peer) => {
      peer.say('220 mail\r\n');
      await serve(peer, { EHLO: null });
    },
    ['connect -', 'banner 220', 'ehlo - !'],
  ],
  [
    'at STARTTLS',
    async (peer) => {
      peer.say('220 mail\r\n');
      await serve(peer, { EHLO: '250-mail\r\n250 STARTTLS\r\n', STARTTLS: null });
    },
    [...HELLO, 'starttls - !'],
  ],
  [
    'at the handshake',
    async (peer) => {
      peer.say('220 mail\r\n');
      await serve(peer, { EHLO: '250-mail\r\n250 STARTTLS\r\n', STARTTLS: null });
      peer.say('220 go\r\n');
      await peer.hear();
    },
    [...HELLO, 'starttls 220', 'tls - !'],
  ],
  [
    'after the handshake',
    async (peer) => {
      await upgrade(peer);
      await serve(peer, { EHLO: null });
    },
    [...HELLO, 'starttls 220', 'tls -', 'ehlo - !'],
  ],
  [
    'at AUTH',
    async (peer) => {
      await upgrade(peer);
      await serve(peer, { AUTH: null });
    },
    [...UPGRADED, 'auth - !'],
  ],
  [
    'within AUTH',
    async (peer) => {
      await upgrade(peer);
      await serve(peer, { EHLO: '250-mail\r\n250 AUTH LOGIN\r\n', AUTH: null });
      peer.say('334 VXNlcm5hbWU6\r\n');
      await peer.hear();
    },
    [...UPGRADED, 'auth 334', 'auth - !'],
  ],
  [
    'at QUIT',
    async (peer) => {
      await upgrade(peer);
      await serve(peer, { QUIT: null });
    },
    [...UPGRADED, 'auth 235', 'quit - !'],
  ],
];
const silent: Script = async (peer) => {
  for (;;) await peer.hear();
};
const drip: Script = async (peer) => {
  const timer = setInterval(() => peer.say('2'), 50);
  try {
    await silent(peer);
  } finally {
    clearInterval(timer);
  }
};
const ENDINGS: readonly [string, Script, 'target_timeout' | 'target_failed'][] = [
  ['is silent', silent, 'target_timeout'],
  ['drips', drip, 'target_timeout'],
  ['hangs up', () => undefined, 'target_failed'],
  ['resets the connection', (peer) => peer.reset(), 'target_failed'],
];

for (const [how, ending, code] of ENDINGS)
  for (const [where, script, steps] of STOPS) {
    // Single bytes sent during a TLS handshake make it fail immediately; another test covers this.
    if (how === 'drips' && where === 'at the handshake') continue;
    test(`a server that ${how} ${where} leads to the expected outcome`, async (t) => {
      const server = await startSmtp(async (peer) => {
        await script(peer);
        await ending(peer);
      });
      try {
        // The call has enough time for all preceding steps.
        const ms = code === 'target_timeout' ? 8000 : 60_000;
        if (steps === null) t.is(await codeOf(() => probe(server, credentials, ms)), code);
        else {
          const output = await probe(server, credentials, ms);
          t.deepEqual(stepsOf(output), steps);
          t.is(output.authSucceeded, where === 'at QUIT');
          t.true(authLines(server).length <= 1);
        }
        t.is(server.connections, 1);
      } finally {
        server.close();
      }
    });
  }

test('each step is limited to ten seconds, even if the call has more time', async (t) => {
  const began = performance.now();
  const { output } = await against(async (peer) => {
    peer.say('220 mail\r\n');
    await drip(peer);
  });
  t.deepEqual(stepsOf(output), ['connect -', 'banner 220', 'ehlo - !']);
  const took = Number(recordsAt(output.steps)[2]?.ms);
  t.true(took >= 9_900 && took <= performance.now() - began);
});

test('an aborted call ends with the abort reason in the middle of a step', async (t) => {
  const reason = new Error('hung up');
  const controller = new AbortController();
  const server = await startSmtp(async (peer) => {
    peer.say('220 mail\r\n');
    await peer.hear();
    controller.abort(reason);
    await silent(peer);
  });
  try {
    t.is(await t.throwsAsync(probe(server, {}, 60_000, controller.signal)), reason);
  } finally {
    server.close();
  }
});

test('an AUTH exchange without end is given up', async (t) => {
  const { output, heard } = await against(async (peer) => {
    await upgrade(peer);
    await serve(peer, { AUTH: null });
    for (;;) {
      peer.say('334 more\r\n');
      if ((await peer.hear()) === '*') break;
    }
    peer.say('501 cancelled\r\n');
    await serve(peer);
  }, credentials);
  t.deepEqual(stepsOf(output), [...UPGRADED, 'auth 334', 'auth 501', 'quit 221']);
  t.is(output.authSucceeded, false);
  t.is(authLines({ heard }).length, 1);
});

test('a server that disconnects after refusing AUTH is reported in the output', async (t) => {
  const { output } = await against(async (peer) => {
    await upgrade(peer);
    await serve(peer, { AUTH: null });
    peer.say('535 5.7.8 no\r\n');
  }, credentials);
  t.deepEqual(stepsOf(output), [...UPGRADED, 'auth 535 !', 'quit - !']);
  t.is(output.authSucceeded, false);
});
