import { readFileSync } from 'node:fs';
import { legacyHookDecode } from '@exodus/bytes/encoding.js';
import test from 'ava';
import { decodeStrictly, decodeText } from '../../activities/download/charset.ts';
import { decodePage } from '../../activities/html/decode.ts';
import { type Reader, type Served, startReader } from './chromium.ts';

let reader: Reader;
test.before(async () => {
  reader = await startReader();
});
test.after.always(() => reader?.close());

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const bytesOf = (...parts: (string | readonly number[])[]): Uint8Array =>
  new Uint8Array(
    Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part)))),
  );

/** Bytes that each encoding decodes to different text. */
const SAMPLE = [
  0x83, 0x65, 0x83, 0x58, 0x83, 0x67, 0x20, 0xb0, 0xa1, 0xb0, 0xa2, 0x20, 0xe4, 0xf6, 0xfc, 0xdf,
];
const shown = (text: string): string => text.replace(/^[\s\S]*<p>|<\/p>[\s\S]*$/g, '');

/** The pages that Chromium decodes, by path. Each declares its encoding, so that Chromium does not guess. */
const PAGES: Record<string, Served> = {};
const add = (name: string, contentType: string, ...head: (string | readonly number[])[]): void => {
  PAGES[name] = { contentType, body: bytesOf(...head, '<p>', SAMPLE, '</p>') };
};
add('header', 'text/html; charset=shift_jis', '<!doctype html>');
add('header in quotes and upper case', 'text/html; charset="EUC-KR"', '<!doctype html>');
add('header outranks meta', 'text/html; charset=koi8-r', '<meta charset=shift_jis>');
add(
  'an unknown label in the header counts as none',
  'text/html; charset=nonsense',
  '<meta charset=shift_jis>',
);
add('meta charset', 'text/html', '<!doctype html><meta charset="Shift_JIS">');
add(
  'meta http-equiv',
  'text/html',
  '<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS">',
);
add(
  'meta http-equiv, attributes the other way round',
  'text/html',
  "<META CONTENT='text/html;charset=x-sjis' HTTP-EQUIV=content-type>",
);
add(
  'content without http-equiv is ignored, a later meta is not',
  'text/html',
  '<meta content="text/html; charset=koi8-r"><meta charset=gbk>',
);
add('a meta within a comment is ignored', 'text/html', '<!-- <meta charset=koi8-r> --><meta charset=big5>');
add('utf-16 in a meta is utf-8', 'text/html', '<meta charset=utf-16>');
add('x-user-defined in a meta is windows-1252', 'text/html', '<meta charset=x-user-defined>');
add('latin1 is windows-1252', 'text/html', '<meta charset=iso-8859-1>');
add(
  'a meta after a long head',
  'text/html',
  `<head><script>${'/* */'.repeat(600)}</script><meta charset=shift_jis></head>`,
);
add('a mark outranks the header', 'text/html; charset=koi8-r', [0xef, 0xbb, 0xbf], '<meta charset=gbk>');
add('an XML declaration', 'text/html', '<?xml version="1.0" encoding="windows-1251"?><html>');
add(
  'a meta within an attribute is ignored',
  'text/html',
  '<a title="<meta charset=gbk>"></a><meta charset=big5>',
);

for (const [name, served] of Object.entries(PAGES))
  test.serial(`a page is decoded as by Chromium: ${name}`, async (t) => {
    const page = await reader.open(served);
    const theirs = String(await page.evaluate(`document.querySelector('p').textContent`));
    t.is(shown(decodePage(new Uint8Array(Buffer.from(served.body)), served.contentType ?? null)), theirs);
  });

for (const encoding of ['utf-16le', 'utf-16be'] as const)
  for (const mark of [true, false])
    test.serial(
      `a page in ${encoding} is decoded as by Chromium${mark ? ', by its byte order mark' : ', by the header'}`,
      async (t) => {
        const bytes = Buffer.from(`${mark ? '\u{feff}' : ''}<!doctype html><p>grüße, 漢字 😀</p>`, 'utf16le');
        const body = new Uint8Array(encoding === 'utf-16be' ? bytes.swap16() : bytes);
        const contentType = mark ? 'text/html' : `text/html; charset=${encoding}`;
        const page = await reader.open({ body, contentType });
        const theirs = String(await page.evaluate(`document.querySelector('p').textContent`));
        t.is(theirs, 'grüße, 漢字 😀');
        t.is(shown(decodePage(body, contentType)), theirs);
      },
    );

const SINGLE =
  'ibm866 iso-8859-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-8-i iso-8859-10 iso-8859-13 iso-8859-14 iso-8859-15 iso-8859-16 koi8-r koi8-u macintosh windows-874 windows-1250 windows-1251 windows-1252 windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 windows-1258 x-mac-cyrillic x-user-defined';
const DOUBLE = 'gbk gb18030 big5 euc-jp shift_jis euc-kr';

/**
 * Text that the Encoding Standard expects (Big5 index from 0x8862, JIS X 0208 row 1) where Chromium deviates from it.
 */
const CHROMIUM_ERRS: Readonly<Record<string, string[]>> = {
  big5: ['\u{ca}\u{304}', '\u{ca}\u{30c}', '\u{ea}\u{304}', '\u{ea}\u{30c}'],
  'euc-jp': ['\u{3000}'],
};

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
/** Each single byte, or each pair of a lead and a trail byte, on a separate line. */
const singles = bytesOf(...range(0x80, 0xff).map((byte) => [byte, 0x0a]));
const pairs = bytesOf(
  ...range(0x80, 0xff).map((lead) => range(0x30, 0xff).flatMap((trail) => [lead, trail, 0x0a])),
);

/** Puts a letter before each byte or pair, so that none of them can be read as a byte order mark. */
function linesOf(bytes: Uint8Array): Buffer[] {
  const length = bytes.indexOf(0x0a);
  return Array.from({ length: bytes.length / (length + 1) }, (_, index) => {
    const begin = index * (length + 1);
    return Buffer.from([0x61, ...bytes.subarray(begin, begin + length)]);
  });
}

for (const [labels, bytes] of [
  [SINGLE, singles],
  [DOUBLE, pairs],
] as const)
  for (const label of labels.split(' '))
    test.serial(`every character of ${label} is decoded as by Chromium`, async (t) => {
      const page = await reader.open({ body: '<p>' });
      const encoded = Buffer.from(bytes).toString('base64');
      const theirs = String(
        await page.evaluate(
          `new TextDecoder('${label}').decode(Uint8Array.from(atob('${encoded}'), (it) => it.charCodeAt(0)))`,
        ),
      );
      const [own, other] = [decodePage(bytes, `text/html; charset=${label}`), theirs].map((text) =>
        text.split('\n'),
      );
      const differing = own?.filter((line, index) => line !== other?.[index]);
      t.deepEqual(differing, CHROMIUM_ERRS[label] ?? []);
      t.is(own?.length, other?.length);
      const text = own?.join('\n') ?? '';
      t.is(decodeText(Buffer.from(bytes), label), text);
      t.is(decodeStrictly(Buffer.from(bytes), label), text.includes('\ufffd') ? null : text);
      const differs = linesOf(bytes).filter((line) => {
        const alone = decodeText(line, label);
        return decodeStrictly(line, label) !== (alone.includes('\ufffd') ? null : alone);
      });
      t.deepEqual(differs, []);
    });

test('a page without a declared encoding is UTF-8 if it is valid UTF-8, else windows-1252', (t) => {
  t.is(decodePage(utf8('<p>grüße'), 'text/html'), '<p>grüße');
  t.is(decodePage(bytesOf('<p>gr', [0xfc, 0xdf], 'e ', [0x80]), null), '<p>grüße €');
  t.is(decodePage(utf8('<p>grüße'), 'application/xhtml+xml'), '<p>grüße');
});

test('ISO-2022-JP is decoded; an encoding that browsers refuse to decode gives a single U+FFFD', (t) => {
  const body = bytesOf(
    '<meta charset=iso-2022-jp><p>',
    [0x1b, 0x24, 0x42, 0x46, 0x7c, 0x4b, 0x5c, 0x1b, 0x28, 0x42],
    '</p>',
  );
  t.is(shown(decodePage(body, 'text/html')), '日本');
  t.is(decodePage(utf8('<p>x'), 'text/html; charset=iso-2022-kr'), '\u{fffd}');
});

/** Pages of html5lib-tests, each with the encoding that must be detected. */
const SNIFFED = ['tests1', 'tests2', 'test-yahoo-jp'].flatMap((name) => [
  ...readFileSync(new URL(`../vectors/encoding/${name}.dat`, import.meta.url), 'latin1').matchAll(
    /#data\n([\s\S]*?)\n#encoding\n(\S+)/g,
  ),
]);

test('detects the encoding that html5lib-tests expects for each page', (t) => {
  t.is(SNIFFED.length, 82);
  for (const [, page = '', encoding = ''] of SNIFFED) {
    const parts = [SAMPLE, Buffer.from(page, 'latin1')];
    // A byte order mark counts only at the start of the page, so these bytes stay there. The bytes of other cases may
    // end in an unfinished tag, so they are put last.
    const body = bytesOf(...(page.startsWith('\xef\xbb\xbf') ? parts.reverse() : parts).map((it) => [...it]));
    t.is(decodePage(body, 'text/html'), legacyHookDecode(body, encoding), `${encoding}: ${page}`);
  }
});
