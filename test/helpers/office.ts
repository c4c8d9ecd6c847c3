import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { crc32, deflateRawSync } from 'node:zlib';
import { programVariables } from '../../activities/runtime/programs.ts';
import { readEnv } from '../../schemas/env.ts';

const run = promisify(execFile);

const office = (name: string) => fileURLToPath(new URL(`../../activities/office/${name}`, import.meta.url));

/** Makes the fonts of the sandbox, and returns its font configuration. @param system the configuration of the system */
async function makeFonts(folder: string, system = '/etc/fonts/fonts.conf'): Promise<string> {
  const [target, file] = [join(folder, 'fonts'), join(folder, 'fonts.conf')];
  await mkdir(target, { recursive: true });
  const list = await readFile(office('fonts.json'), 'utf8');
  await run('python3', [office('makeFonts.py'), list, target, '/usr/share/fonts']);
  const text = await readFile(office('fonts.conf'), 'utf8');
  await writeFile(file, text.replaceAll('/etc/fonts/fonts.conf', system).replaceAll('/tmp/fonts', target));
  return file;
}

/** Converts files with one run of the installed LibreOffice. @returns the paths of the results */
export async function convertWithLibreOffice(
  folder: string,
  to: string,
  files: readonly string[],
): Promise<string[]> {
  const outdir = join(folder, `to-${to}`);
  await mkdir(outdir, { recursive: true });
  const profile = `-env:UserInstallation=file://${join(folder, 'profile')}`;
  const options = ['--headless', profile, '--convert-to', to, '--outdir', outdir];
  const { SOFFICE_PATH, PROGRAMS_DIR } = readEnv();
  const { PATH: _path, ...unpacked } = programVariables(PROGRAMS_DIR);
  const fonts = await makeFonts(folder, unpacked.FONTCONFIG_FILE);
  // Same settings as in the sandbox: fonts, no language, and a fixed paper size instead of the one in this machine's
  // /etc/papersize.
  const settings = { LANG: 'C.UTF-8', PAPERSIZE: 'letter', TMPDIR: folder, FONTCONFIG_FILE: fonts };
  const unpackedOffice = join(PROGRAMS_DIR ?? '', 'usr/lib/libreoffice/program/soffice');
  const installed = PROGRAMS_DIR !== null && existsSync(unpackedOffice) ? unpackedOffice : 'soffice';
  await run(SOFFICE_PATH ?? installed, [...options, ...files], {
    timeout: 150_000,
    env: { ...process.env, ...unpacked, ...settings },
  });
  const made = await readdir(outdir);
  return files.flatMap((file) => {
    const name = `${basename(file).replace(/\.\w+$/, '')}.${to}`;
    return made.includes(name) ? [join(outdir, name)] : [];
  });
}

/** Returns the number of pages and the text of a PDF, read with poppler. */
export async function readPdf(path: string): Promise<{ pages: number; text: string }> {
  const { stdout } = await run('pdfinfo', [path]);
  const text = await run('pdftotext', ['-layout', path, '-'], { maxBuffer: 64 * 2 ** 20 });
  return { pages: Number(/^Pages:\s+(\d+)$/m.exec(stdout)?.[1]), text: text.stdout };
}

/** Renders each page of a PDF with poppler as a greyscale image. @returns the bytes of the image files */
export async function drawPdf(path: string): Promise<Buffer[]> {
  await run('pdftoppm', ['-r', '72', '-gray', path, path]);
  const folder = dirname(path);
  const pages = (await readdir(folder)).filter((name) => name.startsWith(`${basename(path)}-`)).sort();
  return Promise.all(pages.map((name) => readFile(join(folder, name))));
}

export interface ZipPart {
  name: string;
  data?: Buffer | string;
  /** Used instead of `data`: deflated bytes, and the uncompressed size that the headers state. */
  deflated?: { bytes: Buffer; size: number };
}

/** Returns a ZIP archive, whose headers may misstate its content. */
export function zipOf(parts: readonly ZipPart[]): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, data = '', deflated } of parts) {
    const plain = Buffer.from(data);
    const bytes = deflated?.bytes ?? deflateRawSync(plain);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(plain), 10);
    common.writeUInt32LE(bytes.length, 14);
    common.writeUInt32LE(deflated?.size ?? plain.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\x01\x02\x14\x00'), common, rest, Buffer.from(name));
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), bytes]);
    locals.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt16LE(parts.length & 0xffff, 8);
  end.writeUInt16LE(parts.length & 0xffff, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, central, end]);
}

const MAIN = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml';
const WORD = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const MATH = 'http://schemas.openxmlformats.org/officeDocument/2006/math';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';

interface DocxOptions {
  /** XML content of the `w:body` element. */
  body?: string;
  /** External relationships, each with the last part of its type URI and its target; their ids are x0, x1 … */
  external?: readonly (readonly [type: string, target: string])[];
  mainType?: string;
  extra?: readonly ZipPart[];
  /**
   * Parts to which the main part has relationships, each with the last part of its type URI and the content type of the part; their
   * ids are p0, p1 …
   */
  parts?: readonly (ZipPart & { relation: string; contentType: string })[];
}

/** Returns the smallest Word document that Word accepts. */
export function makeDocx({
  body = '',
  external = [],
  mainType = MAIN,
  extra = [],
  parts = [],
}: DocxOptions = {}): Buffer {
  const internal = parts.map(
    ({ relation, name }, index) =>
      `<Relationship Id="p${index}" Type="${RELATIONS}/${relation}" Target="/${name}"/>`,
  );
  const overrides = parts.map(
    ({ name, contentType }) => `<Override PartName="/${name}" ContentType="${contentType}"/>`,
  );
  const relations = external.map(
    ([type, target], index) =>
      `<Relationship Id="x${index}" Type="${RELATIONS}/${type}" Target="${target}" TargetMode="External"/>`,
  );
  const wrapped = (items: string) =>
    `<Relationships xmlns="${PACKAGE}/relationships">${items}</Relationships>`;
  const text = body === '' ? '<w:p><w:r><w:t>Hello</w:t></w:r></w:p>' : body;
  return zipOf([
    {
      name: '[Content_Types].xml',
      data:
        `<Types xmlns="${PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/>` +
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
        '<Override PartName="/word/settings.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.settings+xml"/>' +
        `${overrides.join('')}<Override PartName="/word/document.xml" ContentType="${mainType}"/></Types>`,
    },
    {
      name: '_rels/.rels',
      data: wrapped(`<Relationship Id="r" Type="${RELATIONS}/officeDocument" Target="word/document.xml"/>`),
    },
    { name: 'word/_rels/document.xml.rels', data: wrapped([...internal, ...relations].join('')) },
    {
      name: 'word/document.xml',
      data: `<w:document xmlns:w="${WORD}" xmlns:r="${RELATIONS}" xmlns:m="${MATH}" xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office"><w:body>${text}</w:body></w:document>`,
    },
    ...parts,
    ...extra,
  ]);
}

const ODF = 'urn:oasis:names:tc:opendocument:xmlns';

/** Returns an OpenDocument text document. @param body XML content of the `office:text` element */
export function makeOdt(body: string, scripts = '', extra: readonly ZipPart[] = []): Buffer {
  const names = ['office', 'text', 'table', 'script', 'style'].map(
    (name) => `xmlns:${name}="${ODF}:${name}:1.0"`,
  );
  const others =
    `xmlns:draw="${ODF}:drawing:1.0" xmlns:svg="${ODF}:svg-compatible:1.0" xmlns:ooo="http://openoffice.org/2004/office" ` +
    'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dom="http://www.w3.org/2001/xml-events"';
  const type = 'application/vnd.oasis.opendocument.text';
  const entries = [
    ['/', type],
    ['content.xml', 'text/xml'],
    ...extra.map(({ name }) => [name, 'text/xml']),
  ].map(([path, media]) => `<m:file-entry m:full-path="${path}" m:media-type="${media}"/>`);
  return zipOf([
    { name: 'mimetype', data: type },
    {
      name: 'META-INF/manifest.xml',
      data: `<m:manifest xmlns:m="${ODF}:manifest:1.0" m:version="1.2">${entries.join('')}</m:manifest>`,
    },
    {
      name: 'content.xml',
      data: `<office:document-content ${names.join(' ')} ${others} office:version="1.2">${scripts}<office:body><office:text>${body}</office:text></office:body></office:document-content>`,
    },
    ...extra,
  ]);
}
