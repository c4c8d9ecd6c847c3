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
import { unoserver } from '../provision/items/comparisons.ts';
import { type Measured, measure } from './measure.ts';
import type { Sizes } from './sizes.ts';

const run = promisify(execFile);
const START_MS = 60_000;

interface OfficeRow {
  calls: Calls;
  cold: Measured;
  unoserver: Measured;
  ours: Measured;
}

const CALLS = ['apart', 'in succession', 'four at once'] as const;
type Calls = (typeof CALLS)[number];
/** Maximum number of conversions per run with a cold soffice, because each takes seconds. */
const COLD_TIMES = 2;

const paragraph = `<w:p><w:r><w:t>${'The quick brown fox jumps over the lazy dog. '.repeat(6)}</w:t></w:r></w:p>`;

interface Unoserver extends AsyncDisposable {
  /** Converts the document at `path` and writes the PDF to `pdf`. */
  convert(path: string, pdf: string): Promise<void>;
}

/** Calls an XML-RPC method of unoserver. @param params XML values @throws when the response is an error */
async function callRpc(url: string, method: string, params: readonly string[] = []): Promise<void> {
  const values = params.map((value) => `<param><value>${value}</value></param>`).join('');
  const body = `<?xml version="1.0"?><methodCall><methodName>${method}</methodName><params>${values}</params></methodCall>`;
  const headers = { 'content-type': 'text/xml' };
  const response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(START_MS) });
  const text = await response.text();
  if (!response.ok || text.includes('<fault>')) throw new Error(`${method}: ${text.slice(0, 300)}`);
}

/**
 * Starts unoserver, which converts all documents with one LibreOffice process. The benchmark sends the same XML-RPC
 * calls as unoserver's client (unoserver/client.py), but without the 100 ms that starting Python for each document
 * would take.
 */
async function startUnoserver(folder: string): Promise<Unoserver> {
  const packages = await unoserver.get(console.error);
  const [port, unoPort] = [String(await freePort()), String(await freePort())];
  const url = `http://127.0.0.1:${port}/`;
  const profile = `--user-installation=${join(folder, 'uno')}`;
  const options = ['-m', 'unoserver.server', '--port', port, '--uno-port', unoPort, profile];
  // Debian's Python, because the package python3-uno is installed for it.
  const server = spawn('/usr/bin/python3', options, {
    stdio: 'ignore',
    detached: true,
    env: { ...process.env, PYTHONPATH: packages },
  });
  await once(server, 'spawn');
  if (server.pid === undefined) throw new Error('unoserver has no process id');
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

/** Compares how long a cold soffice, unoserver and the tool take to convert a one-page document. The runs alternate. */
export async function benchOffice(sizes: Sizes['office']): Promise<OfficeRow[]> {
  await using open = new AsyncDisposableStack();
  const folder = open.adopt(await mkdtemp(join(tmpdir(), 'bench-office-')), (it) =>
    rm(it, { recursive: true, force: true, maxRetries: 5 }),
  );
  const bytes = makeDocx({ body: paragraph.repeat(8) });
  const source = join(folder, 'letter.docx');
  await writeFile(source, bytes);
  const server = open.use(await startUnoserver(folder));
  const ours = open.use(await office.open({ env: readEnv(), log: console.error }));
  const signal = new AbortController().signal;

  const profile = `-env:UserInstallation=file://${join(folder, 'cold')}`;
  const cold = () =>
    run('soffice', ['--headless', profile, '--convert-to', 'pdf', '--outdir', folder, source]);
  const uno = (index: number) => server.convert(source, join(folder, `uno-${index}.pdf`));
  const warm = () =>
    ours.convert({ bytes, type: DOCX, name: 'letter.docx' }, { signal, deadline: Date.now() + 60_000 });

  // The first, unmeasured conversions create profiles, caches and spare processes.
  await cold();
  await uno(0);
  await warm();

  /** Documents of a measured run, and how many of them are converted at the same time. */
  const runs: Record<Calls, { times: number; concurrency: number }> = {
    apart: { times: 1, concurrency: 1 },
    'in succession': { times: sizes.inSuccession, concurrency: 1 },
    'four at once': { times: sizes.atOnce, concurrency: 4 },
  };
  const rows: OfficeRow[] = [];
  for (const calls of CALLS) {
    const { times, concurrency } = runs[calls];
    const results: Omit<OfficeRow, 'calls'>[] = [];
    for (let round = 0; round < sizes.rounds * (calls === 'apart' ? sizes.apart : 1); round++) {
      await sleep(sizes.pauseMs);
      results.push({
        ours: await measure(times, concurrency, warm),
        unoserver: await measure(times, concurrency, uno),
        // Concurrency 1, because LibreOffice allows only one process per profile.
        cold: await measure(Math.min(times, COLD_TIMES), 1, cold),
      });
    }
    rows.push({
      calls,
      cold: medians(results.map((result) => result.cold)),
      unoserver: medians(results.map((result) => result.unoserver)),
      ours: medians(results.map((result) => result.ours)),
    });
  }
  return rows;
}
