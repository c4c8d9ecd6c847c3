import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { deflateSync } from 'node:zlib';
import test from 'ava';
import readPdf from '../../activities/jobs/read-pdf.ts';
import { codeOf, guardFor, listen } from '../helpers/egress.ts';
import { startHostile } from '../helpers/http.ts';
import { CATALOG, makePdf, makeXrefStreamPdf, ONE_PAGE, PAGE, streamOf } from '../helpers/pdf.ts';
import { seededRandom } from '../helpers/random.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';

const run = promisify(execFile);
const tool = await loadTool('pdf-metadata');
/** Folder of PDF files; set TEST_PDFS to compare the files of another folder. */
const samples = process.env.TEST_PDFS ?? fileURLToPath(new URL('../vectors/pdf', import.meta.url));

const files = new Map<string, Buffer>();
const server = createServer((request, response) => {
  const file = files.get(request.url ?? '');
  response.writeHead(file === undefined ? 404 : 200).end(file);
});
const port = await listen(server);
test.after.always(() => {
  server.close();
  server.closeAllConnections();
});

const egress = guardFor(port);

/** Serves a file and calls the tool with its URL. */
async function ask(bytes: Buffer, ms = 60_000): Promise<Record<string, unknown>> {
  const path = `/${crypto.randomUUID()}`;
  files.set(path, bytes);
  try {
    return await tool.call(
      { fileUrl: `http://127.0.0.1:${port}${path}` },
      { egress, deadline: Date.now() + ms },
    );
  } finally {
    files.delete(path);
  }
}

/** Calls `work` with a temporary folder and removes the folder afterwards. */
async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'pdf-test-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns the report of pdfinfo, or null if pdfinfo cannot open the file. */
async function pdfinfo(path: string) {
  const answer = await run('pdfinfo', ['-enc', 'UTF-8', path], { timeout: 30_000 }).catch(() => null);
  if (answer === null) return null;
  const value = (key: string): string | null =>
    new RegExp(`^${key}:[ ]+(\\S.*)$`, 'm').exec(answer.stdout)?.[1]?.trim() ?? null;
  const pages = value('Pages');
  if (pages === null) return null;
  return {
    title: value('Title'),
    author: value('Author'),
    subject: value('Subject'),
    producer: value('Producer'),
    pageCount: Number(pages),
    encrypted: value('Encrypted')?.startsWith('yes') ?? false,
  };
}

/** Returns the page count of qpdf, or null if qpdf cannot open the file. */
async function qpdfPages(path: string): Promise<number | null> {
  try {
    const { stdout } = await run('qpdf', ['--warning-exit-0', '--show-npages', path], { timeout: 30_000 });
    return Number(stdout.trim());
  } catch {
    return null;
  }
}

/** Returns the report of pdfinfo for these bytes. */
const pdfinfoOf = (bytes: Buffer) =>
  inFolder(async (folder) => {
    const path = join(folder, 'file.pdf');
    await writeFile(path, bytes);
    return pdfinfo(path);
  });

/** Returns the output of a call for these bytes, or the error code if the call fails. */
async function outcomeOf(bytes: Buffer, ms?: number): Promise<Record<string, unknown>> {
  let output = {};
  const code = await codeOf(async () => {
    output = await ask(bytes, ms);
  });
  return { code, ...output };
}

test.serial(
  'opens every file that pdfinfo or qpdf opens, and counts the same pages as pdfinfo',
  async (t) => {
    const names = (await readdir(samples)).filter((name) => name.endsWith('.pdf')).sort();
    t.true(names.length >= 50);
    const counted = { ours: 0, pdfinfo: 0, qpdf: 0 };
    for (const name of names) {
      const path = join(samples, name);
      const ours = await outcomeOf(await readFile(path));
      t.true(
        ['ok', 'corrupt_source', 'unsupported_source'].includes(String(ours.code)),
        `${name}: ${ours.code}`,
      );
      if (typeof ours.pageCount === 'number') counted.ours += 1;
      if ((await qpdfPages(path)) !== null) counted.qpdf += 1;
      const theirs = await pdfinfo(path);
      if (theirs === null) continue;
      counted.pdfinfo += 1;
      t.is(ours.pageCount, theirs.pageCount, name);
      if (theirs.encrypted) t.true(ours.encrypted, name);
    }
    t.log(counted);
    t.true(counted.ours > counted.pdfinfo && counted.ours > counted.qpdf);
  },
);

/** The part of the output about files that can be read and claim nothing, and about those that cannot. */
const OPEN = { unreadable: null, claims: { pdfA: null, pdfUA: null } };
const LOCKED = { unreadable: 'password_required', claims: null };

const withTrailer = (trailer: string): Buffer => {
  const text = makePdf({ objects: ONE_PAGE }).toString('latin1');
  return Buffer.from(text.replace(/trailer\n.*>>/, trailer), 'latin1');
};
const INFO = `${ONE_PAGE[9]}`.replace('<<', '<< /Producer (Me)');

/** PDF files with a faulty trailer whose catalog can still be found, each also with an information dictionary. */
const TRAILERS = {
  'an illegal character': 'trailer\n<< /Size 10 /Root 1 0 R /Other ) >>',
  'a number before its dictionary': 'trailer 3 << /Size 10 /Root 1 0 R >>',
  'no dictionary': 'trailer\n',
};
for (const [fault, trailer] of Object.entries(TRAILERS))
  test.serial(`a file whose trailer has ${fault} is repaired`, async (t) => {
    t.like(await outcomeOf(withTrailer(trailer)), {
      code: 'ok',
      pageCount: 1,
      title: 'Hello',
      encrypted: false,
    });
    const described = withTrailer(trailer).toString('latin1').replace(`${ONE_PAGE[9]}`, INFO);
    t.like(await outcomeOf(Buffer.from(described, 'latin1')), {
      code: 'ok',
      pageCount: 1,
      title: 'Hello',
      producer: 'Me',
    });
  });

/** Faults of files whose trailer is also damaged: texts of the file and what replaces each of them. */
const DAMAGES: Readonly<Record<string, [from: string, to: string][]>> = {
  'no catalog': [['/Catalog', '/Cata']],
  'no catalog, and no types of pages': [
    ['/Catalog', '/Cata'],
    ['/Type /Page ', '/Typ Page '],
  ],
  'a root of the page tree that is never closed, and no types of pages': [
    ['/Count 1 >>', '/Count 1 /Resources >>'],
    ['/Type /Page ', '/Typ Page '],
    ['/MediaBox', '/Media'],
  ],
  'a second table before its catalog': [['1 0 obj', 'xref\n1 0 obj']],
  'no catalog and no header': [
    ['%PDF-1.7', '%'],
    ['/Catalog', '/Cata'],
  ],
};
for (const [fault, changes] of Object.entries(DAMAGES))
  test.serial(`a file is repaired that has no trailer and ${fault}`, async (t) => {
    let text = makePdf({ objects: { ...ONE_PAGE, 9: INFO } }).toString('latin1');
    for (const [from, to] of [...changes, ['<< /Size', '/Size']] as const) {
      t.true(text.includes(from));
      text = text.replace(from, to);
    }
    const output = { title: 'Hello', author: null, subject: null, producer: 'Me', pageCount: 1 };
    t.deepEqual(await outcomeOf(Buffer.from(text, 'latin1')), {
      ...{ code: 'ok', ...output, encrypted: false, ...OPEN },
    });
    const locked = text.replace('/Size', '/Encrypt 8 0 R /Size');
    t.like(await outcomeOf(Buffer.from(locked, 'latin1')), { pageCount: 1, title: null, encrypted: true });
  });

test.serial('texts are read from a file that encrypts only its attachments', async (t) => {
  const hex = (bytes: number) => `<${'5a'.repeat(bytes)}>`;
  const keys = `/O ${hex(48)} /U ${hex(48)} /OE ${hex(32)} /UE ${hex(32)} /Perms ${hex(16)}`;
  const filters =
    '/CF << /StdCF << /CFM /AESV3 /AuthEvent /DocOpen /Length 32 >> >> /StmF /Identity /EFF /StdCF';
  const locked = (strings: string) =>
    makePdf({
      objects: {
        ...ONE_PAGE,
        8: `<< /Filter /Standard /V 5 /R 6 /P -4 /Length 256 ${keys} ${filters} ${strings} >>`,
      },
      trailer: '/Encrypt 8 0 R /ID [<5a> <5a>]',
    });
  t.like(await outcomeOf(locked('/StrF /Identity')), {
    code: 'ok',
    pageCount: 1,
    title: 'Hello',
    encrypted: true,
  });
  t.like(await outcomeOf(locked('')), { code: 'ok', pageCount: 1, title: 'Hello', encrypted: true });
  t.like(await outcomeOf(locked('/StrF /StdCF')), { code: 'ok', pageCount: 1, title: null, encrypted: true });
});

for (const revision of [5, 6])
  test.serial(`texts are read if the owner password is empty, revision ${revision}`, async (t) => {
    const weak = revision === 5 ? ['--force-R5'] : [];
    const locked = (owner: string) =>
      inFolder(async (folder) => {
        const [plain, made] = [join(folder, 'plain.pdf'), join(folder, 'locked.pdf')];
        await writeFile(plain, makePdf({ objects: { ...ONE_PAGE, 9: '<< /Title (Grüße) >>' } }));
        const options = ['--encrypt', 'user', owner, '256', '--allow-insecure', ...weak, '--'];
        await run('qpdf', [plain, ...options, made]);
        return readFile(made);
      });
    const open = await locked('');
    t.is((await pdfinfoOf(open))?.title, 'Grüße');
    t.like(await outcomeOf(open), { code: 'ok', pageCount: 1, title: 'Grüße', encrypted: true });
    t.like(await outcomeOf(await locked('owner')), { pageCount: 1, title: null, encrypted: true });
  });

const titled = (title: string): Buffer => makePdf({ objects: { ...ONE_PAGE, 9: `<< /Title ${title} >>` } });

/** Text strings in the notations of ISO 32000-2, 7.9.2.2, and the text they stand for. */
const TITLES: Readonly<Record<string, [source: string, title: string | null]>> = {
  ASCII: ['(Hello)', 'Hello'],
  escapes: ['(a\\(b\\)\\101\\\nc (d))', 'a(b)Ac (d)'],
  hexadecimal: ['<48 65 6C6C6F>', 'Hello'],
  PDFDocEncoding: ['(\\222 \\204 \\240 \\351)', '™ — € é'],
  'UTF-16BE': ['<FEFF65E5672C8A9E D83DDE00>', '日本語😀'],
  'odd UTF-16BE': ['<FEFF65E5672C00>', '日本'],
  empty: ['()', null],
  'only a byte order mark': ['<FEFF>', null],
  'not a string': ['/Hello', null],
};
for (const [what, [source, title]] of Object.entries(TITLES))
  test.serial(`a title is read as pdfinfo reads it: ${what}`, async (t) => {
    const bytes = titled(source);
    t.is((await ask(bytes)).title, title);
    t.is((await pdfinfoOf(bytes))?.title ?? null, title);
  });

test.serial('titles that pdfinfo does not decode are decoded, trimmed and shortened', async (t) => {
  t.is((await ask(titled('(\\000Hello\\000)'))).title, 'Hello');
  t.is((await ask(titled('( \\t Hello\\n )'))).title, 'Hello');
  t.is((await ask(titled('(\\000\\000 )'))).title, null);
  t.is((await ask(titled('<FFFEE5652C67>'))).title, '日本');
  t.is((await ask(titled('<EFBBBFE697A5F09F9880>'))).title, '日😀');
  const { title } = await ask(titled('<FEFF0041D83D0042>'));
  t.true(String(title).isWellFormed());
  t.is(String((await ask(titled(`(${'A'.repeat(20_000)})`))).title).length, 10_000);
  t.is((await ask(titled(`<FEFF${'0041'.repeat(9_999)}D83DDE000042>`))).title, 'A'.repeat(9_999));
  t.is((await ask(titled(`<FEFF${'D83DDE00'.repeat(5_001)}>`))).title, '😀'.repeat(5_000));
});

test.serial('all four text fields are returned', async (t) => {
  const texts = { title: 'Annual report', author: 'Jane Doe', subject: 'Money', producer: 'Hand 1.0' };
  const entries = Object.entries(texts).map(
    ([key, text]) => `/${key[0]?.toUpperCase()}${key.slice(1)} (${text})`,
  );
  const bytes = makePdf({ objects: { ...ONE_PAGE, 9: `<< ${entries.join(' ')} >>` } });
  t.deepEqual(await ask(bytes), { ...texts, pageCount: 1, encrypted: false, ...OPEN });
  t.deepEqual(await pdfinfoOf(bytes), { ...texts, pageCount: 1, encrypted: false });
});

const CIPHERS: Readonly<Record<string, string[]>> = {
  'RC4, 40 bits': ['40'],
  'RC4, 128 bits': ['128', '--use-aes=n'],
  'AES, 128 bits': ['128', '--use-aes=y'],
  'AES, 256 bits': ['256'],
};
for (const [cipher, options] of Object.entries(CIPHERS))
  test.serial(`an encrypted file is reported as encrypted: ${cipher}`, async (t) => {
    await inFolder(async (folder) => {
      const path = join(folder, 'file.pdf');
      const source = join(folder, 'source.pdf');
      const pages = { 2: '<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>', 4: PAGE };
      await writeFile(source, makePdf({ objects: { ...ONE_PAGE, ...pages } }));
      const encrypt = async (password: string, ...more: string[]): Promise<Buffer> => {
        await run('qpdf', [
          '--allow-weak-crypto',
          ...more,
          '--encrypt',
          password,
          'owner',
          ...options,
          '--',
          source,
          path,
        ]);
        return readFile(path);
      };
      const hidden = { title: null, author: null, subject: null, producer: null, encrypted: true };
      t.deepEqual(await ask(await encrypt('secret')), { ...hidden, ...LOCKED, pageCount: 2 });
      t.is(await pdfinfo(path), null);
      t.deepEqual(await ask(await encrypt('secret', '--linearize')), { ...hidden, ...LOCKED, pageCount: 2 });
      t.deepEqual(await ask(await encrypt('', '--object-streams=generate')), {
        ...hidden,
        ...OPEN,
        title: 'Hello',
        pageCount: 2,
      });
      t.like(await pdfinfo(path), { title: 'Hello', pageCount: 2, encrypted: true });
      const packed = ['--object-streams=generate'];
      t.deepEqual(await ask(await encrypt('secret', ...packed)), { ...hidden, ...LOCKED, pageCount: null });
      t.deepEqual(await ask(await encrypt('secret', ...packed, '--linearize')), {
        ...{ ...hidden, ...LOCKED, pageCount: 2 },
      });
    });
  });

test.serial(
  'files encrypted for certificates or with an unknown handler are reported as encrypted',
  async (t) => {
    const hidden = {
      title: null,
      author: null,
      subject: null,
      producer: null,
      encrypted: true,
      pageCount: 1,
      claims: null,
    };
    const handlers = {
      certificate_required:
        '<< /Filter /Adobe.PubSec /SubFilter /adbe.pkcs7.s4 /V 2 /Length 128 /Recipients [<00>] >>',
      unsupported_encryption: '<< /Filter /Standard /V 99 /R 99 /O (x) /U (x) /P -1 >>',
    };
    for (const [unreadable, handler] of Object.entries(handlers)) {
      const trailer = '/Encrypt 6 0 R /ID [<00> <00>]';
      const pdf = makePdf({ objects: { ...ONE_PAGE, 6: handler }, trailer });
      t.deepEqual(await ask(pdf), { ...hidden, unreadable });
    }
  },
);

/**
 * Size of a stream that exceeds `LIMIT`. Files that exceed the limit of the tool itself expand to more than 64 MB, which would
 * harm a program without such a limit.
 */
const LARGE = 6_000_000;
const LIMIT = 4_000_000;
const packedObjects = [CATALOG, ONE_PAGE[2], PAGE].map(String);
const packedHead = `1 0 2 ${CATALOG.length + 1} 3 ${packedObjects.slice(0, 2).join(' ').length + 1} `;
const withMetadata = (stream: Buffer): Buffer =>
  makePdf({ objects: { ...ONE_PAGE, 1: '<< /Type /Catalog /Pages 2 0 R /Metadata 5 0 R >>', 5: stream } });
const withPages = (pages: string, more: Record<number, string> = {}): Buffer =>
  makePdf({ objects: { ...ONE_PAGE, 2: pages, ...more } });
const objectStream = (bytes: Buffer, count: number): Buffer =>
  makeXrefStreamPdf({
    objects: {
      9: '<< /Title (Hello) >>',
      10: streamOf(
        `/Type /ObjStm /N ${count} /First ${packedHead.length} /Filter /FlateDecode`,
        deflateSync(Buffer.concat([Buffer.from(packedHead + packedObjects.join(' ')), bytes])),
      ),
    },
    packed: { 1: 0, 2: 1, 3: 2 },
    dictionary: '/Size 21',
  });
const xrefStream = (dictionary: string): Buffer =>
  makeXrefStreamPdf({
    objects: ONE_PAGE,
    dictionary: `${dictionary} /Filter /FlateDecode`,
    encode: (entries) => deflateSync(entries),
  });

const GOOD = { code: 'ok', title: 'Hello', pageCount: 1, encrypted: false };
/** Hostile files, and the expected output or error code of each. */
const HOSTILE: Readonly<Record<string, [make: () => Buffer, outcome: Record<string, unknown>]>> = {
  'a cyclic page tree': [
    () =>
      withPages('<< /Type /Pages /Kids [4 0 R] /Count 5 >>', {
        4: '<< /Type /Pages /Parent 2 0 R /Kids [2 0 R 3 0 R] /Count 5 >>',
      }),
    GOOD,
  ],
  'a page count that is too large': [() => withPages('<< /Type /Pages /Kids [3 0 R] /Count 1000 >>'), GOOD],
  'a negative page count': [() => withPages('<< /Type /Pages /Kids [3 0 R] /Count -5 >>'), GOOD],
  'a fractional page count': [() => withPages('<< /Type /Pages /Kids [3 0 R] /Count 1.5 >>'), GOOD],
  'a number of 23 digits': [
    () => withPages('<< /Type /Pages /Kids [3 0 R] /Count 99999999999999999999999 >>'),
    GOOD,
  ],
  'a stream whose length refers to itself': [
    () =>
      withMetadata(Buffer.from('<< /Type /Metadata /Subtype /XML /Length 5 0 R >>\nstream\nabc\nendstream')),
    GOOD,
  ],
  'cross-references that predict rows longer than the file': [
    () => xrefStream('/Size 21 /DecodeParms << /Predictor 12 /Columns 200000 >>'),
    GOOD,
  ],
  'a table that is its own predecessor': [
    () => {
      const plain = makePdf({ objects: ONE_PAGE });
      const at = plain.lastIndexOf('xref\n0 ');
      return makePdf({ objects: ONE_PAGE, trailer: `/Prev ${at}` });
    },
    GOOD,
  ],
  'nested arrays': [
    () =>
      makePdf({
        objects: { ...ONE_PAGE, 9: `<< /Title (Hello) /X ${'['.repeat(500)}${']'.repeat(500)} >>` },
      }),
    { code: 'ok', pageCount: 1 },
  ],
  'an information dictionary that refers to itself': [
    () => makePdf({ objects: { ...ONE_PAGE, 9: '9 0 R' } }),
    { ...GOOD, title: null },
  ],
  'a stream that is longer than the file, and no table': [
    () =>
      makePdf({
        objects: { ...ONE_PAGE, 5: '<< /Length 100000 >>\nstream\nabc\nendstream' },
        startxref: 0,
      }),
    GOOD,
  ],
  'an object with a number of 20 digits, and no table': [
    () =>
      Buffer.concat([
        Buffer.from('%PDF-1.7\n99999999999999999999 0 obj\n<< >>\nendobj\n'),
        makePdf({ objects: ONE_PAGE, startxref: 0 }),
      ]),
    GOOD,
  ],
  'only the header': [() => Buffer.from('%PDF-1.7\n'), { code: 'corrupt_source' }],
  'a catalog without pages': [
    () => makePdf({ objects: { 1: '<< /Type /Catalog >>', 9: '<< >>' } }),
    { code: 'corrupt_source' },
  ],
};
for (const [what, [make, outcome]] of Object.entries(HOSTILE))
  test.serial(`a hostile file leads to its expected outcome: ${what}`, async (t) => {
    t.like(await outcomeOf(make()), outcome);
  });

test.serial('valid files of the same forms as the hostile files are read', async (t) => {
  t.like(await ask(objectStream(Buffer.alloc(0), 3)), { title: 'Hello', pageCount: 1 });
  t.like(await ask(xrefStream('/Size 21')), { title: 'Hello', pageCount: 1 });
});

// test/decoders.test.ts covers files that keep the parser busy, such as a cross-reference stream with a billion entries: a job
// that does not end is ended at its deadline.
const PACKED = '/Type /Metadata /Subtype /XML /Filter';
const LIMITED: Readonly<Record<string, [make: () => Buffer, outcome: 'read' | 'source_too_large']>> = {
  'small objects': [() => objectStream(Buffer.alloc(0), 3), 'read'],
  'objects that expand to more': [() => objectStream(Buffer.alloc(LARGE), 3), 'source_too_large'],
  'metadata that expands to more': [
    () => withMetadata(streamOf(`${PACKED} /FlateDecode`, deflateSync(Buffer.alloc(LARGE)))),
    'read',
  ],
  'metadata compressed twice': [
    () =>
      withMetadata(
        streamOf(`${PACKED} [/FlateDecode /FlateDecode]`, deflateSync(deflateSync(Buffer.alloc(LARGE)))),
      ),
    'read',
  ],
};
for (const [what, [make, outcome]] of Object.entries(LIMITED))
  test.serial(`with a lower limit for decompressed content: ${what}`, (t) =>
    inFolder(async (folder) => {
      const path = join(folder, 'file.pdf');
      const bytes = make();
      t.true(bytes.length < 20_000);
      await writeFile(path, bytes);
      const read = () => readPdf({ path, size: bytes.length }, LIMIT);
      if (outcome === 'source_too_large') return void t.is(await codeOf(read), outcome);
      const reading = await read();
      t.like(reading.kind === 'read' && reading.metadata, { title: 'Hello', pageCount: 1 });
    }),
  );

test.serial('truncated files are read or refused', async (t) => {
  const random = seededRandom(t.log);
  for (const name of ['c-linearized.pdf', '11-pages-with-labels.pdf', 'enc-owner-objstm.pdf']) {
    const bytes = await readFile(new URL(`../vectors/pdf/${name}`, import.meta.url));
    for (let round = 0; round < 8; round++) {
      const { code, pageCount } = await outcomeOf(bytes.subarray(0, random.integer(9, bytes.length - 1)));
      t.true(code === 'ok' ? Number(pageCount) >= 0 : code === 'corrupt_source', `${name}: ${code}`);
    }
  }
});

test.serial('the type of a file is determined by its bytes', async (t) => {
  const others = {
    'an empty file': '',
    text: 'Hello',
    HTML: '<!doctype html><title>report.pdf</title>',
    PostScript: '%!PS-Adobe-3.0\n%%EOF',
    PNG: '\x89PNG\r\n\x1a\n\0\0\0\rIHDR',
    ZIP: 'PK\x03\x04',
    'a header too late': `${'x'.repeat(1024)}%PDF-1.7`,
    'an object in a text': 'see 1 0 obj for more',
  };
  for (const [what, text] of Object.entries(others))
    t.is((await outcomeOf(Buffer.from(text, 'latin1'))).code, 'unsupported_source', what);
  const pdf = makePdf({ objects: ONE_PAGE });
  t.like(await ask(Buffer.concat([Buffer.alloc(1000), pdf])), { pageCount: 1 });
  t.like(await ask(Buffer.concat([Buffer.from('% no header\n'), pdf.subarray(9)])), { pageCount: 1 });
});

test.serial('a file may have 50 MB, and one byte more is refused', async (t) => {
  const rest = makePdf({ objects: { ...ONE_PAGE, 5: streamOf('', Buffer.alloc(0)) } }).length;
  // In the larger file, the stream length and the offset of the cross-reference table have seven and five more digits.
  const fill = 50 * 1024 * 1024 - rest - 12;
  const make = (more: number) =>
    makePdf({ objects: { ...ONE_PAGE, 5: streamOf('', Buffer.alloc(fill + more, 0x61)) } });
  const whole = make(0);
  t.is(whole.length, 50 * 1024 * 1024);
  t.like(await ask(whole), { pageCount: 1 });
  t.is((await outcomeOf(make(1))).code, 'source_too_large');
});

test.serial('failed downloads are reported with the expected error codes', async (t) => {
  const missing = () => tool.call({ fileUrl: `http://127.0.0.1:${port}/missing` }, { egress });
  t.is(await codeOf(missing), 'target_failed');
  const hostile = await startHostile();
  t.teardown(hostile.close);
  const outcomes = {
    '/silent': 'target_timeout',
    '/drip': 'target_timeout',
    '/half': 'target_failed',
    '/redirect-loop': 'target_failed',
    '/dense-gzip': 'source_too_large',
    '/announced-60-mb': 'source_too_large',
  };
  for (const [path, code] of Object.entries(outcomes)) {
    const call = () =>
      tool.call(
        { fileUrl: `http://127.0.0.1:${hostile.port}${path}` },
        {
          egress: guardFor(hostile.port),
          deadline: Date.now() + (code === 'target_timeout' ? 5_000 : 30_000),
        },
      );
    t.is(await codeOf(call), code, path);
  }
});

test.serial('invalid URLs are rejected', async (t) => {
  for (const fileUrl of ['file:///etc/passwd', 'report.pdf', 'http://user@example.com/a.pdf'])
    t.deepEqual(
      (await faultsOf(tool, { fileUrl })).map(({ pointer }) => pointer),
      ['/fileUrl'],
    );
});
