import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { office } from '../../activities/office/office.ts';
import { DOCX } from '../../activities/office/types.ts';
import { freePort } from '../../dev/ports.ts';
import { readEnv } from '../../schemas/env.ts';
import { makeDocx } from '../helpers/office.ts';
import { type Measured, measure } from './measure.ts';

const run = promisify(execFile);
const START_MS = 60_000;

export interface OfficeRow {
  /** `apart`: with pauses in which the next LibreOffice warms up; `together`: without pauses. */
  calls: 'apart' | 'together';
  cold: Measured;
  /** null if unoserver (PyPI) is not on PATH. */
  unoserver: Measured | null;
  ours: Measured;
}

const paragraph = `<w:p><w:r><w:t>${'The quick brown fox jumps over the lazy dog. '.repeat(6)}</w:t></w:r></w:p>`;

interface Unoserver extends AsyncDisposable {
  /** Converts the file at `path` to a PDF at `pdf`. */
  convert(path: string, pdf: string): Promise<void>;
}

/** Calls a method by XML-RPC. @param params XML values @throws when the response is an error */
async function callRpc(url: string, method: string, params: readonly string[] = []): Promise<void> {
  const values = params.map((value) => `<param><value>${value}</value></param>`).join('');
  const body = `<?xml version="1.0"?><methodCall><methodName>${method}</methodName><params>${values}</params></methodCall>`;
  const headers = { 'content-type': 'text/xml' };
  const response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(START_MS) });
  const text = await response.text();
  if (!response.ok || text.includes('<fault>')) throw new Error(`${method}: ${text.slice(0, 300)}`);
}

/**
 * Starts unoserver, in which one LibreOffice converts all documents. It is called like its own client does
 * (unoserver/client.py), but without the 100 ms that a Python process for each document would take.
 */
async function startUnoserver(folder: string): Promise<Unoserver | null> {
  const [port, unoPort] = [String(await freePort()), String(await freePort())];
  const url = `http://127.0.0.1:${port}/`;
  const profile = `--user-installation=${join(folder, 'uno')}`;
  const server = spawn('unoserver', ['--port', port, '--uno-port', unoPort, profile], {
    stdio: 'ignore',
    detached: true,
  });
  const spawned = await once(server, 'spawn').then(
    () => true,
    () => false,
  );
  if (!spawned || server.pid === undefined) return null;
  const group = -server.pid;
  const deadline = Date.now() + START_MS;
  for (;;) {
    const answers = await callRpc(url, 'info').then(
      () => true,
      () => false,
    );
    if (answers) break;
    if (Date.now() > deadline) throw new Error('unoserver does not answer');
    await sleep(200);
  }
  const [nil, noOptions, updateIndex] = ['<nil/>', '<array><data/></array>', '<boolean>1</boolean>'];
  const string = (text: string) => `<string>${text}</string>`;
  return {
    async convert(path, pdf) {
      const [from, to] = [string(path), string(pdf)];
      await callRpc(url, 'convert', [from, nil, to, string('pdf'), nil, noOptions, updateIndex, nil, nil]);
    },
    async [Symbol.asyncDispose]() {
      process.kill(group, 'SIGKILL');
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
    },
  };
}

const medians = (runs: readonly Measured[]): Measured => {
  const median = (of: (measured: Measured) => number) =>
    runs.map(of).sort((a, b) => a - b)[Math.floor(runs.length / 2)] ?? Number.NaN;
  return {
    p50: median(({ p50 }) => p50),
    p95: median(({ p95 }) => p95),
    perSecond: median(({ perSecond }) => perSecond),
  };
};

/** Compares the conversion of a one-page document by a cold soffice, unoserver and the warm converters, alternating. */
export async function benchOffice(rounds: number): Promise<OfficeRow[]> {
  await using open = new AsyncDisposableStack();
  const folder = open.adopt(await mkdtemp(join(tmpdir(), 'bench-office-')), (it) =>
    rm(it, { recursive: true, force: true, maxRetries: 5 }),
  );
  const bytes = makeDocx({ body: paragraph.repeat(8) });
  const source = join(folder, 'letter.docx');
  await writeFile(source, bytes);
  const server = await startUnoserver(folder);
  if (server !== null) open.use(server);
  const ours = open.use(await office.open({ env: readEnv({}), log: console.error }));
  const signal = new AbortController().signal;

  const profile = `-env:UserInstallation=file://${join(folder, 'cold')}`;
  const cold = () =>
    run('soffice', ['--headless', profile, '--convert-to', 'pdf', '--outdir', folder, source]);
  const uno = (it: Unoserver) => () => it.convert(source, join(folder, 'uno.pdf'));
  const warm = () =>
    ours.convert({ bytes, type: DOCX, name: 'letter.docx' }, { signal, deadline: Date.now() + 60_000 });

  // Creates profiles, caches and spare processes.
  await cold();
  if (server !== null) await uno(server)();
  await warm();

  const rows: OfficeRow[] = [];
  for (const calls of ['apart', 'together'] as const) {
    const results: { cold: Measured; unoserver: Measured | null; ours: Measured }[] = [];
    const times = calls === 'apart' ? 1 : 8;
    for (let round = 0; round < rounds * (calls === 'apart' ? 3 : 1); round++) {
      await sleep(4000);
      results.push({
        ours: await measure(times, 1, warm),
        unoserver: server === null ? null : await measure(times, 1, uno(server)),
        cold: await measure(times, 1, cold),
      });
    }
    const unoserver = results.flatMap((result) => result.unoserver ?? []);
    rows.push({
      calls,
      cold: medians(results.map((result) => result.cold)),
      unoserver: unoserver.length === 0 ? null : medians(unoserver),
      ours: medians(results.map((result) => result.ours)),
    });
  }
  return rows;
}
