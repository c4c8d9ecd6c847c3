import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:tls';
import { type Answer, decode, encode } from 'dns-packet';
import sharp from 'sharp';
import { SMTPServer } from 'smtp-server';
import { CODES } from '../helpers/dns.ts';
import { FX, GOLD, metalAnswer, ratesAnswer, SILVER } from '../helpers/feed.ts';
import { makeDocx } from '../helpers/office.ts';
import { makePdf, ONE_PAGE } from '../helpers/pdf.ts';

// Program of a container with the servers that the tools reach in test/containers/main.ts: DNS, web, TLS, mail and
// price feed.

/** Address of the container, as in fixture.yml. */
const ADDRESS = '10.99.30.10';
const NAMES = new Set(['example.com', 'mail.example.com']);
/** Credentials that the mail server accepts; main.ts uses the same. */
const LOGIN = { username: 'jane', password: 'correct horse' };

const certificate = {
  cert: readFileSync('/fixture/certificate.pem'),
  key: readFileSync('/fixture/key.pem'),
};
const image = await sharp({ create: { width: 64, height: 48, channels: 3, background: '#2a6f97' } })
  .png()
  .toBuffer();
const files: Readonly<Record<string, { type: string; body: Buffer }>> = {
  '/letter.docx': {
    type: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    body: makeDocx(),
  },
  '/report.pdf': { type: 'application/pdf', body: makePdf({ objects: ONE_PAGE }) },
  '/sail.png': { type: 'image/png', body: image },
  '/sea.png': { type: 'image/png', body: image },
};
const page = '<!doctype html><title>Fixture</title><h1>Fixture</h1><a href="/report.pdf">Report</a>';
const feeds: Readonly<Record<string, () => object>> = {
  [GOLD]: () => metalAnswer('XAU', 2700.5),
  [SILVER]: () => metalAnswer('XAG', 31.25),
  [FX]: () => ratesAnswer(() => 0.96),
};

createServer(({ url = '' }, response) => {
  const file = files[url];
  if (file === undefined) response.setHeader('Content-Type', 'text/html').end(page);
  else response.setHeader('Content-Type', file.type).end(file.body);
}).listen(80);

createServer(({ url = '' }, response) => {
  const feed = feeds[url];
  if (feed === undefined) response.writeHead(404).end();
  else response.setHeader('Content-Type', 'application/json').end(JSON.stringify(feed()));
}).listen(8081);

createTlsServer(certificate, (socket) => {
  socket.on('error', () => undefined).end();
}).listen(443);

new SMTPServer({
  ...certificate,
  name: 'mail.example.com',
  onAuth({ username, password }, _session, done) {
    const known = username === LOGIN.username && password === LOGIN.password;
    done(known ? null : new Error('unknown user'), known ? { user: LOGIN.username } : undefined);
  },
}).listen(2525);

const dns = createSocket('udp4');
dns.on('message', (bytes, from) => {
  const query = decode(bytes);
  const question = query.questions?.[0];
  if (question === undefined) return;
  const name = question.name;
  const known = NAMES.has(name.toLowerCase());
  const answers: Answer[] = [];
  if (known && question.type === 'A') answers.push({ type: 'A', name, ttl: 300, data: ADDRESS });
  if (known && question.type === 'MX')
    answers.push({ type: 'MX', name, ttl: 300, data: { exchange: 'mail.example.com', preference: 10 } });
  const flags = 0x0180 | (known ? CODES.NOERROR : CODES.NXDOMAIN);
  dns.send(
    encode({ type: 'response', id: query.id ?? 0, flags, questions: [question], answers }),
    from.port,
    from.address,
  );
});
dns.bind(53);

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit());
