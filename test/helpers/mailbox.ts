import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { until } from './until.ts';

/** An email, parsed with Python's email package. */
export interface Received {
  /** Address of the SMTP envelope's sender (MAIL FROM). */
  from: string;
  to: string[];
  headers: [string, string][];
  body: string;
  /** The links in the body. */
  links: string[];
}

/** An SMTP server on loopback that keeps the emails it receives. */
export interface Mailbox {
  url: string;
  /** Waits until this many emails for an address have arrived. @throws when they do not arrive in time */
  until(email: string, count?: number): Promise<Received[]>;
  to(email: string): Received[];
  /** From now on rejects emails to this address, or accepts them again. */
  refuse(email: string, refused: boolean): void;
  /** Delays the server's reply to every email until `release` is called. */
  hold(): { release(): void };
  close(): Promise<void>;
}

const PARSE = `
import email, email.policy, json, sys
mail = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.default)
print(json.dumps({'headers': [[n, str(v)] for n, v in mail.items()], 'body': mail.get_content()}))`;

function parse(raw: string): Pick<Received, 'headers' | 'body'> {
  const { stdout, stderr, status } = spawnSync('/usr/bin/python3', ['-c', PARSE], {
    input: raw,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  const { headers, body }: Pick<Received, 'headers' | 'body'> = JSON.parse(stdout);
  return { headers, body: body.replaceAll('\r\n', '\n') };
}

export async function startMailbox(): Promise<Mailbox> {
  const received: Received[] = [];
  const refused = new Set<string>();
  let open = Promise.resolve();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    closeTimeout: 1000,
    onRcptTo({ address }, _session, done) {
      done(refused.has(address) ? new Error('no such mailbox') : null);
    },
    onData(stream, { envelope }, done) {
      const take = async () => {
        const parsed = parse(await text(stream));
        await open;
        received.push({
          from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
          to: envelope.rcptTo.map(({ address }) => address),
          ...parsed,
          links: parsed.body.match(/https?:\/\/\S+/g) ?? [],
        });
      };
      take().then(
        () => done(),
        (error: Error) => done(error),
      );
    },
  });
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const address = listening.address();
  if (address === null || typeof address === 'string') throw new Error('no address');
  const to = (email: string) => received.filter((mail) => mail.to.includes(email));
  return {
    url: `smtp://127.0.0.1:${address.port}`,
    to,
    until: (email, count = 1) =>
      until(`${count} mails to ${email}`, async () => to(email).length >= count && to(email)),
    refuse(email, is) {
      if (is) refused.add(email);
      else refused.delete(email);
    },
    hold() {
      const held = Promise.withResolvers<void>();
      open = held.promise;
      return { release: held.resolve };
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
