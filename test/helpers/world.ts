import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:tls';
import { EXAMPLE_PAGE } from '../../schemas/formats/examplePage.ts';
import type { Pool } from '../../schemas/pools.ts';
import { makeCertificate } from './certificates.ts';
import { type Received, reply, soa, startDns } from './dns.ts';
import { listen } from './egress.ts';
import { startFeed } from './feed.ts';
import { makeDocx } from './office.ts';
import { makePdf, ONE_PAGE, PAGE as PDF_PAGE } from './pdf.ts';
import { serve, startSmtp } from './smtp.ts';

/** The local servers that stand in for the targets of the network tools. */
export interface World {
  /** Environment variables that make a stack use these servers. */
  env: Record<string, string>;
  close(): Promise<void>;
}

/** How the examples of the tools refer to the local servers. */
export interface WorldNames {
  /** Returns the input of a tool's example, with its target replaced by a local server. */
  localise(pool: Pool, input: Record<string, unknown>): Record<string, unknown>;
  /** Replaces the addresses of the local servers in an output by those of the example. */
  globalise(output: unknown): unknown;
}

/** Returns the names of the servers that a stack uses. @param env environment variables of the stack */
export function worldOf(env: Record<string, string>): WorldNames {
  const [, web = '', secure = '', mail = ''] = env.EGRESS_ALLOW?.split(',') ?? [];
  return {
    localise: (pool, input) =>
      Object.fromEntries(
        Object.entries(input).map(([field, value]) => [
          field,
          (pool !== 'cpu' || field === 'fileUrl') && typeof value === 'string'
            ? value
                .replace(/^https:\/\/example\.com\//, `http://${web}/`)
                .replace(/^example\.com:443$/, secure)
                .replace(/^mail\.example\.com$/, mail.split(':')[0] ?? '')
            : value,
        ]),
      ),
    globalise: (output) =>
      JSON.parse(JSON.stringify(output).replaceAll(`http://${web}/`, 'https://example.com/')),
  };
}

/** A page for the options of the tools, with a link to a heading that does not exist. */
const ARTICLE = `<!doctype html><title>Ferries</title><nav><a href="#missing">Menu</a></nav><article><h1>The last ferry</h1>${'<p>The harbour was quiet that morning, and the <em>ferries</em> lay along the quay.</p>'.repeat(5)}</article>`;

const REPORT = makePdf({
  objects: {
    ...ONE_PAGE,
    2: '<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>',
    4: PDF_PAGE,
    9: '<< /Title (Annual report) /Author (Jane Doe) /Producer (LibreOffice 25.2.3.2 (X86_64) / LibreOffice Community) >>',
  },
});

/** Files that the examples download, by path; every other path returns the HTML page. */
const FILES: Readonly<Record<string, { type: string; base64: string }>> = {
  '/letter.docx': {
    type: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    base64: makeDocx().toString('base64'),
  },
  '/article.html': { type: 'text/html', base64: Buffer.from(ARTICLE).toString('base64') },
  '/report.pdf': { type: 'application/pdf', base64: REPORT.toString('base64') },
  '/sail.png': {
    type: 'image/png',
    base64:
      'iVBORw0KGgoAAAANSUhEUgAAABAAAAAMCAMAAABcOc2zAAAABlBMVEUqb5fpxGqcZ9c9AAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAEklEQVQImWNgIA8wQgFtBUgDABPsADF8yXy+AAAAAElFTkSuQmCC',
  },
  '/sea.png': {
    type: 'image/png',
    base64:
      'iVBORw0KGgoAAAANSUhEUgAAACAAAAAYCAMAAACsjQ8GAAAAA1BMVEUqb5cero9jAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAEUlEQVQokWNgGAWjYBQwoAEAAxgAATJlthoAAAAASUVORK5CYII=',
  },
};

/** Answers DNS queries for the host names in the examples; no other names exist. */
function answer(query: Received): Buffer {
  const { type } = query.question;
  // The resolver sends names in randomly mixed case.
  const name = query.question.name.toLowerCase();
  const authorities = [soa('example.com', 300, 300)];
  if (name !== 'example.com') return reply(query, [], { code: 'NXDOMAIN', authorities });
  if (type === 'MX')
    return reply(
      query,
      Object.entries({ 'mail.example.com': 10, 'backup.example.net': 20 }).map(([exchange, preference]) => ({
        ...{ type, name, ttl: 300 },
        data: { exchange, preference },
      })),
    );
  if (type === 'A') return reply(query, [{ type, name, ttl: 300, data: '127.0.0.1' }]);
  return reply(query, [], { authorities });
}

/** Starts local servers, on loopback only, for every target in the tools' examples. */
export async function startWorld(): Promise<World> {
  const dns = await startDns(answer);
  const feed = await startFeed();
  const web = createServer(({ url = '' }, response) => {
    response.sendDate = false;
    const file = FILES[url];
    if (file === undefined) response.setHeader('Content-Type', 'text/html').end(EXAMPLE_PAGE);
    else response.setHeader('Content-Type', file.type).end(Buffer.from(file.base64, 'base64'));
  });
  const port = await listen(web);
  const secure = createTlsServer(await makeCertificate(['IP:127.0.0.1']), (socket) => {
    socket.on('error', () => undefined).end();
  });
  const securePort = await listen(secure);
  const mail = await startSmtp((peer) => {
    peer.say('220 mail.example.com ESMTP\r\n');
    return serve(peer, {
      EHLO: '250-mail.example.com\r\n250-PIPELINING\r\n250 AUTH PLAIN LOGIN\r\n',
      QUIT: '221 2.0.0 Bye\r\n',
    });
  });
  const open = [`127.0.0.1:${port}`, `127.0.0.1:${securePort}`, `${mail.address}:${mail.port}`];
  return {
    env: {
      ...feed.env,
      DNS_SERVERS: `${dns.address}:${dns.port}`,
      EGRESS_ALLOW: ['example.com:443', ...open].join(),
    },
    async close() {
      web.close();
      secure.close();
      mail.close();
      feed.close();
      web.closeAllConnections();
      await dns.close();
    },
  };
}
