import test from 'ava';
import { boundaryOf, readParts } from '../../api/http/multipart.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { type Random, seededRandom } from '../helpers/random.ts';

interface Field {
  name: string;
  fileName: string | null;
  content: string;
}

const FORMS = 300;
const BOUNDARY = 'b';
/** Bytes of a content, chosen so that it often begins like a delimiter. */
const LETTERS = ['\r', '\n', '\r\n', '-', '--', '\r\n--', 'b', 'x'];

async function* inChunks(body: Buffer, random: Random, longest: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < body.length; ) {
    const size = random.integer(1, longest);
    yield body.subarray(at, at + size);
    at += size;
  }
}

async function read(chunks: AsyncIterable<Buffer>, boundary = BOUNDARY, skipped = -1): Promise<Field[]> {
  const fields: Field[] = [];
  for await (const { name, fileName, content } of readParts(chunks, boundary)) {
    const parts: Buffer[] = [];
    // A part that is not read is skipped.
    if (fields.length !== skipped) for await (const part of content) parts.push(part);
    fields.push({ name, fileName, content: Buffer.concat(parts).toString('latin1') });
  }
  return fields;
}

function randomField(random: Random): Field {
  const content = Array.from({ length: random.integer(0, 20) }, () => random.pick(LETTERS)).join('');
  return {
    name: random.text(random.integer(1, 5)).replace(/["\r\n%]/g, '_'),
    fileName: random.pick([null, `${random.text(5)}.pdf`.replace(/["\r\n%]/g, '_')]),
    content: `\r\n${content}`.includes(`\r\n--${BOUNDARY}`) ? '' : content,
  };
}

const bodyOf = (fields: readonly Field[], preamble: string): Buffer =>
  Buffer.concat([
    Buffer.from(preamble),
    ...fields.flatMap(({ name, fileName, content }) => [
      Buffer.from(
        `--${BOUNDARY} \t\r\nContent-Type: text/plain\r\ncontent-disposition: form-data; name="${name}"` +
          `${fileName === null ? '' : `; filename="${fileName}"`}\r\n\r\n`,
      ),
      Buffer.from(`${content}\r\n`, 'latin1'),
    ]),
    Buffer.from(`--${BOUNDARY}--\r\nepilogue`),
  ]);

test('the parts of a form are read whole, wherever it is cut into chunks', async (t) => {
  const random = seededRandom((line) => t.log(line));
  for (let form = 0; form < FORMS; form++) {
    const fields = Array.from({ length: random.integer(0, 3) }, () => randomField(random));
    const body = bodyOf(fields, random.pick(['', 'preamble\r\n']));
    const longest = random.pick([1, 3, 40, body.length]);
    t.deepEqual(await read(inChunks(body, random, longest)), fields);
    const skipped = random.integer(0, 2);
    t.deepEqual(
      await read(inChunks(body, random, longest), BOUNDARY, skipped),
      fields.map((field, index) => (index === skipped ? { ...field, content: '' } : field)),
    );
    // It has no end before the last boundary.
    const cut = body.subarray(0, random.integer(0, body.lastIndexOf('--') - 1));
    await t.throwsAsync(read(inChunks(cut, random, longest)), { instanceOf: ServiceError });
  }
});

test('the form of a browser is read', async (t) => {
  const random = seededRandom((line) => t.log(line));
  const form = new FormData();
  form.append('file', new Blob(['\r\n-- content']), 'Quote " and\r\nline ü.pdf');
  form.append('text', 'Größe');
  const request = new Request('http://localhost/', { method: 'POST', body: form });
  const boundary = boundaryOf({ headers: { 'content-type': request.headers.get('Content-Type') ?? '' } });
  const body = Buffer.from(await request.arrayBuffer());
  t.deepEqual(await read(inChunks(body, random, 50), boundary ?? ''), [
    { name: 'file', fileName: 'Quote " and\r\nline ü.pdf', content: '\r\n-- content' },
    { name: 'text', fileName: null, content: Buffer.from('Größe').toString('latin1') },
  ]);
});

test('other types have no boundary, and a form without one is refused', (t) => {
  const of = (type: string) => boundaryOf({ headers: { 'content-type': type } });
  t.is(of('application/pdf'), null);
  t.is(of('multipart/form-data-x; boundary=a'), null);
  t.is(of('Multipart/Form-Data; charset=utf-8; Boundary="a b"'), 'a b');
  t.throws(() => of('multipart/form-data'), { instanceOf: ServiceError });
});

test('headers of a part are bounded', async (t) => {
  async function* endless(): AsyncGenerator<Buffer> {
    yield Buffer.from('--b\r\n');
    for (;;) yield Buffer.alloc(1000, 'a');
  }
  await t.throwsAsync(read(endless()), { instanceOf: ServiceError });
});
