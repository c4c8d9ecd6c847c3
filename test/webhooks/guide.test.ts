import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { freePort } from '../../dev/ports.ts';
import { generateSigningSecret, signatureHeaders } from '../../schemas/webhookSignature.ts';
import { snippetsOf } from '../helpers/guideSnippets.ts';
import { until } from '../helpers/until.ts';

test('the receiver of the guide accepts genuine deliveries, each once, and rejects others', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'utility-tools-receiver-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const guide = await readFile(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');
  const [verify, receiver] = snippetsOf(guide).filter(({ language }) => language === 'js');
  await writeFile(join(folder, 'verify.mjs'), verify?.code ?? '');
  await writeFile(join(folder, 'receiver.mjs'), receiver?.code ?? '');
  const [secret, port] = [generateSigningSecret(), await freePort()];
  const program = spawn(process.execPath, ['receiver.mjs'], {
    cwd: folder,
    env: { WEBHOOK_SECRET: secret, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => program.kill());
  let printed = '';
  program.stdout.on('data', (text) => {
    printed += String(text);
  });

  const send = async (id: string, signedWith: string): Promise<number> => {
    const body = JSON.stringify({ id, event: 'credits.low', createdAt: '', data: { balance: 24 } });
    const timestamp = Math.floor(Date.now() / 1000);
    const headers = signatureHeaders(
      { id, event: 'credits.low', body, timestamp },
      { own: signedWith, all: [signedWith] },
    );
    const response = await fetch(`http://localhost:${port}/hook`, { method: 'POST', headers, body });
    return response.status;
  };
  const unsigned = () => fetch(`http://localhost:${port}/hook`, { method: 'POST', body: '{}' });
  const first = await until('the receiver listens', () => unsigned().catch(() => null));
  t.is(first.status, 401);
  t.is(await send('evt_1', generateSigningSecret()), 401);
  t.is(await send('evt_1', secret), 204);
  t.is(await send('evt_1', secret), 204);
  t.is(await send('evt_2', secret), 204);
  await until('two events were printed', async () => printed.match(/credits\.low/g)?.length === 2);
  t.is(printed, 'credits.low { balance: 24 }\n'.repeat(2));
});
