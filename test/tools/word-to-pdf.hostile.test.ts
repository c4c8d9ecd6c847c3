import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { deflateRawSync } from 'node:zlib';
import test from 'ava';
import { PNG } from 'pngjs';
import inspectDocument from '../../activities/jobs/inspect-document.ts';
import { office } from '../../activities/office/office.ts';
import { readEnv } from '../../schemas/env.ts';
import { startCanaries } from '../helpers/canaries.ts';
import { codeOf } from '../helpers/egress.ts';
import { startFiles } from '../helpers/images.ts';
import {
  convertWithLibreOffice,
  makeDocx,
  makeOdt,
  readPdf,
  type ZipPart,
  zipOf,
} from '../helpers/office.ts';
import { childrenOf, stillAlive } from '../helpers/processes.ts';
import { loadTool } from '../helpers/tool.ts';
import { until } from '../helpers/until.ts';

const tool = await loadTool('word-to-pdf');
const files = await startFiles();
const resource = await office.open({ env: readEnv(), log: () => undefined });
const folder = await mkdtemp(join(tmpdir(), 'word-to-pdf-'));
test.after.always(async () => {
  await resource[Symbol.asyncDispose]();
  files.close();
  await rm(folder, { recursive: true, force: true });
});

const LOAD = { egress: files.guard, resource };
const convert = (bytes: Buffer, name = 'a.docx', headers: Record<string, string> = {}, deadline = 100_000) =>
  tool.call({ fileUrl: files.put({ bytes, headers }, name) }, { ...LOAD, deadline: Date.now() + deadline });
const vector = (name: string) => readFileSync(new URL(`../vectors/office/${name}`, import.meta.url));
const OPENXML = 'application/vnd.openxmlformats-officedocument';

/**
 * Limits for archives that small files reach. Under the tool's own limits, only archives that expand to hundreds of megabytes
 * are refused, which would harm a program without such limits.
 */
const LIMITS = { entries: 30, bytes: 50_000, depth: 3 };
/** Compressed data of a ZIP entry: 10 KB of zeros. */
const zeros = { bytes: deflateRawSync(Buffer.alloc(10_000)), size: 10_000 };
const large: ZipPart[] = Array.from({ length: 8 }, (_, at) => ({
  name: `word/media/${at}.bmp`,
  deflated: zeros,
}));
const lying = large.map((part) => ({ ...part, deflated: { ...zeros, size: 10 } }));
const wrapped = (inner: Buffer, depth: number): Buffer =>
  depth === 0 ? inner : zipOf([{ name: 'inner.zip', data: wrapped(inner, depth - 1) }]);
const docx = makeDocx();

const REFUSED: Record<string, [code: string, bytes: Buffer | (() => Buffer), name?: string]> = {
  'a page of HTML': ['unsupported_source', Buffer.from('<!doctype html><html><body>Hello</body></html>')],
  'a page of HTML named .doc': ['unsupported_source', Buffer.from('<html xmlns:o="x"><p>Hello'), 'a.doc'],
  'a text': ['unsupported_source', Buffer.from('Hello\n'), 'a.rtf'],
  'an empty file': ['unsupported_source', Buffer.alloc(0)],
  'a PDF': ['unsupported_source', Buffer.from('%PDF-1.7\n')],
  'flat XML': ['unsupported_source', Buffer.from('<?xml version="1.0"?><office:document/>'), 'a.odt'],
  'a plain archive': ['unsupported_source', zipOf([{ name: 'a.txt', data: 'Hello' }])],
  'a workbook': ['unsupported_source', makeDocx({ mainType: `${OPENXML}.spreadsheetml.sheet.main+xml` })],
  'a spreadsheet': [
    'unsupported_source',
    zipOf([{ name: 'mimetype', data: 'application/vnd.oasis.opendocument.spreadsheet' }]),
    'a.odt',
  ],
  'a .docx with a password': ['unsupported_source', () => vector('locked.docx')],
  'a .doc with a password': ['unsupported_source', () => vector('locked.doc'), 'a.doc'],
  'an .odt with a password': ['unsupported_source', () => vector('locked.odt'), 'a.odt'],
  'a truncated archive': ['corrupt_source', docx.subarray(0, docx.length / 2)],
  'a truncated directory': ['corrupt_source', docx.subarray(0, -40)],
  'broken XML': ['corrupt_source', makeDocx({ body: '<w:p><w:r></w:p></w:r>' })],
  'a container with only a header': [
    'corrupt_source',
    Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(2000)]),
    'a.doc',
  ],
  'a container with a cyclic sector chain': [
    'corrupt_source',
    (() => {
      const bytes = vector('locked.doc');
      // A cyclic file allocation table: the entry of each sector points to the sector itself.
      const fat = (bytes.readUInt32LE(76) + 1) * 512;
      for (let sector = 0; sector < 128; sector++) bytes.writeUInt32LE(sector, fat + sector * 4);
      return bytes;
    })(),
    'a.doc',
  ],
  'a name with ../': [
    'corrupt_source',
    makeDocx({ extra: [{ name: '../../../../tmp/evil.txt', data: 'x' }] }),
  ],
  'a name with ..\\': ['corrupt_source', makeDocx({ extra: [{ name: 'word\\..\\..\\evil', data: 'x' }] })],
  'an absolute name': ['corrupt_source', makeDocx({ extra: [{ name: '/etc/evil', data: 'x' }] })],
  'nested archives': [
    'source_too_large',
    makeDocx({ extra: [{ name: 'word/embeddings/a.bin', data: wrapped(zipOf([{ name: 'a' }]), 5) }] }),
  ],
  'more than 25 MB': ['source_too_large', Buffer.alloc(25_000_001, '{\\rtf1 ')],
};

for (const [what, [code, bytes, name]] of Object.entries(REFUSED))
  test.serial(`refused: ${what}`, async (t) => {
    t.is(await codeOf(() => convert(typeof bytes === 'function' ? bytes() : bytes, name)), code);
  });

const embedded = (data: Buffer) => makeDocx({ extra: [{ name: 'word/embeddings/a.bin', data }] });
const LIMITED: Record<string, [code: string, bytes: Buffer]> = {
  'a document within the limits': ['ok', makeDocx({ extra: large.slice(0, 3) })],
  // The archive is refused before it is unpacked.
  'a plain archive that unpacks to too much': ['unsupported_source', zipOf(large)],
  'a document that unpacks to too much': ['source_too_large', makeDocx({ extra: large })],
  'one that declares a smaller size': ['source_too_large', makeDocx({ extra: lying })],
  'one that contains such an archive': ['source_too_large', embedded(zipOf(large))],
  'one with too many parts': [
    'source_too_large',
    makeDocx({ extra: Array.from({ length: 31 }, (_, at) => ({ name: `word/${at}.xml` })) }),
  ],
};
for (const [what, [code, bytes]] of Object.entries(LIMITED))
  test(`with lower limits for archives: ${what}`, async (t) => {
    t.is(await codeOf(() => inspectDocument({ bytes }, LIMITS)), code);
  });

const NAMES: [path: string, disposition: string | undefined, name: string][] = [
  [
    'R%C3%A9sum%C3%A9%20(final)%20%E2%80%93%20%E5%B1%A5%E6%AD%B4%E6%9B%B8.docx',
    undefined,
    'Résumé (final) – 履歴書.pdf',
  ],
  [
    'get',
    `attachment; filename="old.doc"; filename*=UTF-8''%24(id)%20%60ls%60%20%27%3B%26.docx`,
    "$(id) `ls` ';&.pdf",
  ],
  ['get', 'attachment; filename="../../etc/-rf 100%.docx"', '-rf 100%.pdf'],
  ['.docx', undefined, 'document.pdf'],
];
for (const [path, disposition, name] of NAMES)
  test.serial(`the file name of the PDF is derived from ${name}`, async (t) => {
    const headers: Record<string, string> =
      disposition === undefined ? {} : { 'Content-Disposition': disposition };
    const output = await convert(docx, path, headers);
    t.is(output.fileName, name);
    await writeFile(join(folder, 'named.pdf'), Buffer.from(String(output.fileBase64), 'base64'));
    t.regex((await readPdf(join(folder, 'named.pdf'))).text, /Hello/);
  });

/** Returns documents that refer to external resources in as many ways as their format allows, by file name. */
function linking(url: (path: string) => string, secret: string, picture: string): Record<string, Buffer> {
  const image = (id: string) =>
    `<w:p><w:r><w:pict><v:shape style="width:50pt;height:50pt"><v:imagedata r:id="${id}"/></v:shape></w:pict></w:r></w:p>`;
  const field = (instruction: string) =>
    `<w:p><w:r><w:fldChar w:fldCharType="begin" w:dirty="true"/></w:r><w:r><w:instrText>${instruction}</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>result</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`;
  const frame = (href: string) =>
    `<text:p><draw:frame svg:width="3cm" svg:height="3cm" text:anchor-type="paragraph"><draw:image xlink:href="${href}" xlink:type="simple"/></draw:frame></text:p>`;
  const object = (href: string) =>
    `<text:p><draw:frame svg:width="3cm" svg:height="3cm" text:anchor-type="paragraph"><draw:object xlink:href="${href}" xlink:type="simple" xlink:actuate="onLoad"/></draw:frame></text:p>`;
  const section = (name: string, href: string) =>
    `<text:section text:name="${name}"><text:section-source xlink:href="${href}" xlink:type="simple"/><text:p>before</text:p></text:section>`;
  const macro =
    `<office:scripts><office:event-listeners><script:event-listener script:language="ooo:script" script:event-name="dom:load" ` +
    `xlink:href="vnd.sun.star.script:Standard.M.Go?language=Basic&amp;location=document" xlink:type="simple"/></office:event-listeners></office:scripts>`;
  const library = (inner: string) => `<?xml version="1.0"?>${inner}`;
  const LIBRARY =
    'xmlns:library="http://openoffice.org/2000/library" xmlns:xlink="http://www.w3.org/1999/xlink"';
  return {
    'links.docx': makeDocx({
      external: [
        ['image', url('docx.png')],
        ['image', `file://${picture}`],
        ['attachedTemplate', url('template.dotx')],
        ['oleObject', url('ole.xlsx')],
        ['subDocument', `file://${secret}`],
      ],
      body: `${image('x0')}${image('x1')}<w:subDoc r:id="x4"/>${field(`INCLUDETEXT "${secret}"`)}${field(`INCLUDEPICTURE "${url('field.png')}" \\d`)}${field(`LINK Excel.Sheet.12 "${url('link.xlsx')}" \\a`)}`,
    }),
    'links.odt': makeOdt(
      `${frame(url('odt.png'))}${frame(picture)}${object(url('object.odt'))}${section('a', url('section.odt'))}${section('b', secret)}<text:p>end</text:p>`,
      macro,
      [
        {
          name: 'Basic/script-lc.xml',
          data: library(
            `<library:libraries ${LIBRARY}><library:library library:name="Standard" library:link="false"/></library:libraries>`,
          ),
        },
        {
          name: 'Basic/Standard/script-lb.xml',
          data: library(
            `<library:library ${LIBRARY} library:name="Standard"><library:element library:name="M"/></library:library>`,
          ),
        },
        {
          name: 'Basic/Standard/M.xml',
          data: library(
            `<script:module xmlns:script="http://openoffice.org/2000/script" script:name="M" script:language="StarBasic">Sub Go\nThisComponent.Text.String = "MACRO" &amp; "RAN"\nEnd Sub</script:module>`,
          ),
        },
      ],
    ),
    'links.rtf': Buffer.from(
      `{\\rtf1\\ansi {\\*\\template ${url('rtf.dot')}}{\\field{\\*\\fldinst INCLUDEPICTURE "${url('rtf.png')}" \\\\d}{\\fldrslt x}}\\par {\\field{\\*\\fldinst INCLUDETEXT "${secret}"}{\\fldrslt y}}\\par {\\field{\\*\\fldinst INCLUDEPICTURE "${picture}" \\\\d}{\\fldrslt x}}\\par end\\par}`,
    ),
  };
}

test.serial('a document cannot access the network or host files, nor run macros', async (t) => {
  const { canaries, close } = await startCanaries(1);
  const secret = join(folder, 'secret.txt');
  const picture = join(folder, 'picture.png');
  const red = new PNG({ width: 40, height: 40 });
  red.data.fill(Buffer.from([255, 0, 0, 255]));
  await writeFile(picture, PNG.sync.write(red));
  await writeFile(secret, 'THE SECRET');
  const [canary] = canaries;
  const documents = linking((path) => `http://127.0.0.1:${canary?.port}/${path}`, secret, picture);
  try {
    for (const [name, bytes] of Object.entries(documents)) {
      for (const way of [secret, '/etc/passwd', '/proc/self/environ']) {
        const other = Buffer.from(name.endsWith('.rtf') ? bytes.toString().replaceAll(secret, way) : bytes);
        if (!name.endsWith('.rtf') && way !== secret) continue;
        const output = await convert(other, name);
        const made = join(folder, 'links.pdf');
        await writeFile(made, Buffer.from(String(output.fileBase64), 'base64'));
        const { text } = await readPdf(made);
        t.notRegex(text, /SECRET|MACRORAN|root:|PATH=/, name);
        t.false(readFileSync(made).includes('/Subtype/Image'), `${name} shows an image of the host`);
      }
    }
    t.is(canary?.hits, 0);

    // Control: LibreOffice outside the sandbox follows the references, so they work.
    const paths = await Promise.all(
      Object.entries(documents).map(async ([name, bytes]) => {
        const path = join(folder, `plain-${name.replace('.', '-')}.${name.split('.')[1]}`);
        await writeFile(path, bytes);
        return path;
      }),
    );
    const made = await convertWithLibreOffice(folder, 'pdf', paths);
    t.true((canary?.hits ?? 0) > 0);
    t.true(made.some((path) => readFileSync(path).includes('/Subtype/Image')));
  } finally {
    close();
  }
});

/** Returns a document whose conversion takes seconds. */
const long = (): Buffer => {
  const row = `\\trowd\\cellx3000\\cellx6000\\pard\\intbl ${'word '.repeat(60)}\\cell{\\b more}\\cell\\row\n`;
  return Buffer.from(`{\\rtf1\\ansi ${row.repeat(4000)}\\pard end\\par}`);
};
const ours = () => childrenOf(process.pid, /soffice|bwrap/);
const gone = (pids: number[]) => stillAlive(pids, 60_000);
/** Returns the pids of the processes that have a document of this name in their private folder. */
const converting = (name: string) =>
  ours().filter((pid) => existsSync(`/proc/${pid}/root/tmp/job/in/${name}`));
const untilConverting = (name: string) =>
  until(`${name} is being converted`, async () => {
    const pids = converting(name);
    return pids.length > 1 ? pids : null;
  });
/** The process that runs LibreOffice, among those of a conversion: the newest. */
const converter = (pids: readonly number[]) => Math.max(...pids);
/** Makes a conversion endless, as a document would that LibreOffice cannot lay out before the deadline. */
const suspend = (pids: readonly number[]) => process.kill(converter(pids), 'SIGSTOP');

test.serial(
  'when a document takes too long or its call is cancelled, all processes of the conversion are ended',
  async (t) => {
    const bytes = long();
    await convert(docx);
    const late = codeOf(() => convert(bytes, 'late.rtf', {}, 20_000));
    const latePids = await untilConverting('late.rtf');
    suspend(latePids);
    t.is(await late, 'deadline_exceeded');
    t.deepEqual(await gone(latePids), []);
    const cancel = new AbortController();
    const reason = new Error('cancelled');
    const call = tool.call(
      { fileUrl: files.put({ bytes }, 'cancelled.rtf') },
      { ...LOAD, signal: cancel.signal, deadline: Date.now() + 100_000 },
    );
    const cancelledPids = await untilConverting('cancelled.rtf');
    suspend(cancelledPids);
    cancel.abort(reason);
    t.is(await t.throwsAsync(call), reason);
    t.deepEqual(await gone(cancelledPids), []);
    t.is(await codeOf(() => convert(docx)), 'ok');
  },
);

const NAMESPACES = ['ipc', 'mnt', 'net', 'pid', 'user', 'uts'];
const namespacesOf = (pid: number) => NAMESPACES.map((name) => readlinkSync(`/proc/${pid}/ns/${name}`));
/** Returns the result of `read`, or null if the process has closed or unmapped what it reads. */
function unlessGone<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
/** Returns the session of a process, in a list for `shared`. */
const sessionOf = (pid: number) => {
  const status = unlessGone(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? '';
  return [/^NSsid:\s+(\d+)/m.exec(status)?.[1] ?? ''];
};
/** Returns what a process could use to exchange data: sockets, pipes and files that are open for writing. */
const channelsOf = (pid: number) =>
  readdirSync(`/proc/${pid}/fd`)
    .filter((fd) => {
      const info = unlessGone(() => readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8')) ?? '';
      return (Number.parseInt(/^flags:\s+(\d+)$/m.exec(info)?.[1] ?? '0', 8) & 3) !== 0;
    })
    .flatMap((fd) => unlessGone(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? [])
    // Each process has a private /tmp/job, so files in it are not shared.
    .filter((it) => it !== '/dev/null' && !it.startsWith('/tmp/job/'));
/** Matches a line of /proc/<pid>/maps for writable memory that is not mapped from a file. */
const ANONYMOUS = /^([0-9a-f]+)-([0-9a-f]+) rw\S+ \S+ \S+ 0 *(?:\[(?:heap|stack)\])?$/;
/** Returns whether the writable memory of a process contains the text; false if the process has ended. */
function remembers(pid: number, text: string): boolean {
  const memory = unlessGone(() => openSync(`/proc/${pid}/mem`, 'r'));
  if (memory === null) return false;
  try {
    return (unlessGone(() => readFileSync(`/proc/${pid}/maps`, 'utf8')) ?? '').split('\n').some((line) => {
      const [, from = '0', to = '0'] = ANONYMOUS.exec(line) ?? [];
      const start = Number.parseInt(from, 16);
      const bytes = Buffer.alloc(Number.parseInt(to, 16) - start);
      if (bytes.length > 0) unlessGone(() => readSync(memory, bytes, 0, bytes.length, start));
      return bytes.includes(text) || bytes.includes(text, 0, 'utf16le');
    });
  } finally {
    closeSync(memory);
  }
}

test.serial('the processes of different documents share nothing', async (t) => {
  const marker = `marker-${randomUUID()}`;
  const bytes = Buffer.from(long().toString().replace('\\ansi', `\\ansi ${marker}\\par`));
  await convert(docx);
  const cancel = new AbortController();
  const calls = ['one.rtf', 'two.rtf'].map((name) =>
    tool.call(
      { fileUrl: files.put({ bytes }, name) },
      { ...LOAD, signal: cancel.signal, deadline: Date.now() + 100_000 },
    ),
  );
  const [one = [], two = []] = await Promise.all([untilConverting('one.rtf'), untilConverting('two.rtf')]);
  await until('the document is loaded', async () => (remembers(converter(one), marker) ? true : null));
  suspend(one);
  suspend(two);
  for (const group of [one, two]) {
    const pid = converter(group);
    const others = ours().filter((it) => !group.includes(it));
    t.true(others.length > 2);
    const shared = (of: (pid: number) => string[]) => {
      const theirs = new Set(others.flatMap(of));
      return of(pid).filter((it) => theirs.has(it));
    };
    t.deepEqual(shared(namespacesOf), []);
    // The scheduler shares the cores out among sessions.
    t.deepEqual(shared(sessionOf), []);
    t.deepEqual(shared(channelsOf), []);
    t.regex(readFileSync(`/proc/${pid}/status`, 'utf8'), /^CapEff:\s+0+$/m);
  }
  cancel.abort(new Error('cancelled'));
  await Promise.allSettled(calls);
  await convert(docx);
  const left = ours();
  t.true(left.length > 0);
  t.deepEqual(
    left.filter((pid) => remembers(pid, marker)),
    [],
  );
});

// Stands for documents that crash LibreOffice, such as RTF with a million open groups, with binary data of a false length or
// with an unterminated object. No such document is part of the tests.
test.serial(
  'a crash of LibreOffice is reported as a corrupt file, and the next document is converted',
  async (t) => {
    await convert(docx);
    const code = codeOf(() => convert(long(), 'crashed.rtf'));
    process.kill(converter(await untilConverting('crashed.rtf')), 'SIGSEGV');
    t.is(await code, 'corrupt_source');
    t.is(await codeOf(() => convert(docx)), 'ok');
  },
);

test.serial('killing a worker ends all its processes', async (t) => {
  const module = (path: string) =>
    JSON.stringify(pathToFileURL(join(import.meta.dirname, '../..', path)).href);
  const script = `
    import { office } from ${module('activities/office/office.ts')};
    import { RTF } from ${module('activities/office/types.ts')};
    import { readEnv } from ${module('schemas/env.ts')};
    const it = await office.open({ env: readEnv(), log: console.error });
    const bytes = Buffer.from('{\\\\rtf1 Hello\\\\par}');
    const deadline = Date.now() + 60_000;
    await it.convert({ bytes, type: RTF, name: 'a.rtf' }, { signal: new AbortController().signal, deadline });
    console.log('converted');
    setInterval(() => undefined, 1000);`;
  const worker = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(worker.stdout, 'data');
  const pid = worker.pid ?? 0;
  // Waits until both spare LibreOffice processes are running, each with its parent, beside the fork server.
  // test/sandbox.test.ts covers processes that are still starting.
  await until('both have started', async () => childrenOf(pid, /^[^\0]*soffice\.bin\0/).length >= 5);
  const tree = childrenOf(pid, /soffice|bwrap/);
  t.true(tree.length >= 6);
  worker.kill('SIGKILL');
  await once(worker, 'close');
  t.deepEqual(await gone(tree), []);
});

test('a missing LibreOffice program is reported', async (t) => {
  const error = await t.throwsAsync(
    office.open({ env: readEnv({ SOFFICE_PATH: '/nonexistent/soffice' }), log: () => undefined }),
  );
  t.like(error, { code: 'tool_unavailable', detail: 'LibreOffice is not installed on this server.' });
});
