import test from 'ava';
import { boundaryOf, contentOf, partsOf } from '../../api/http/multipart.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { seededRandom } from '../helpers/random.ts';

const LIMIT = 1_000_000;

async function* inChunks(bytes: Buffer, sizeOf: () => number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    const size = sizeOf();
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

interface Read {
  name: string;
  fileName: string | null;
  text: string;
}

async function read(bytes: Buffer, boundary: string, sizeOf = () => bytes.length): Promise<Read[]> {
  const parts: Read[] = [];
  for await (const { name, fileName, content } of partsOf(inChunks(bytes, sizeOf), boundary))
    parts.push({ name, fileName, text: (await contentOf(content, LIMIT)).toString('latin1') });
  return parts;
}

const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (error: unknown) => (error instanceof ServiceError ? error.code : error),
  );

test('a form is read as it was sent, whatever its chunks are', async (t) => {
  const random = seededRandom((line) => t.log(line));
  for (let run = 0; run < 60; run++) {
    // Looks like the delimiter in many places.
    const content = Array.from({ length: random.integer(0, 40) }, () =>
      random.pick(['\r', '\n', '-', '--', '\r\n--', '\r\n\r\n', 'a', '\u0000', 'ÿ']),
    ).join('');
    const form = new FormData();
    form.set('formToken', 'a "quoted" token');
    form.set('empty', '');
    form.set('file', new Blob([Buffer.from(content, 'latin1')]), 'name; name="x".csv');
    const sent = new Response(form);
    const boundary = boundaryOf(sent.headers.get('content-type') ?? '');
    const bytes = Buffer.from(await sent.arrayBuffer());
    const parts = await read(bytes, boundary, () => random.integer(1, 9));
    t.deepEqual(parts, [
      { name: 'formToken', fileName: null, text: 'a "quoted" token' },
      { name: 'empty', fileName: null, text: '' },
      { name: 'file', fileName: 'name; name=%22x%22.csv', text: content },
    ]);
  }
});

test('a part that is not read is skipped', async (t) => {
  const bytes = Buffer.from(
    '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nlong text\r\n--b\r\ncontent-disposition: form-data; name="b"\r\n\r\nB\r\n--b--\r\n',
  );
  const names: string[] = [];
  for await (const { name } of partsOf(
    inChunks(bytes, () => 3),
    'b',
  ))
    names.push(name);
  t.deepEqual(names, ['a', 'b']);
});

test('a form that is incomplete or malformed is refused', async (t) => {
  const whole = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\ntext\r\n--b--';
  t.is(await codeOf(read(Buffer.from(whole), 'b')), null);
  for (let length = 0; length < whole.length; length++)
    t.is(await codeOf(read(Buffer.from(whole.slice(0, length)), 'b')), 'malformed_json', `${length}`);
  for (const wrong of [
    whole.replace('name="a"', 'filename="a"'),
    whole.replace('Content-Disposition', 'Content-Type'),
    whole.replace('--b\r\nContent', '--c\r\nContent'),
    whole.replace('--b\r\nContent', '--b Content'),
  ])
    t.is(await codeOf(read(Buffer.from(wrong), 'b')), 'malformed_json', wrong);
  const long = whole.replace('\r\n\r\n', `\r\nX: ${'x'.repeat(10_000)}\r\n\r\n`);
  t.is(await codeOf(read(Buffer.from(long), 'b')), 'body_too_large');
  for (const type of ['multipart/form-data', 'multipart/form-data; boundary=', 'text/csv; boundary=b'])
    t.is(await codeOf(Promise.resolve().then(() => boundaryOf(type))), 'unsupported_media_type', type);
});
