import test from 'ava';
import { isHtml } from '../../activities/html/sniff.ts';
import { countWords, truncateText } from '../../activities/html/words.ts';

test('text is cut between words, and its length is counted in code points', (t) => {
  t.is(truncateText('one two three', 100), 'one two three');
  t.is(truncateText('one two three', 13), 'one two three');
  t.is(truncateText('one two three', 12), 'one two');
  t.is(truncateText('one two three', 7), 'one two');
  t.is(truncateText('one two three', 8), 'one two');
  t.is(truncateText('😀😀😀', 2), '😀😀');
  t.is(truncateText('abcdef', 3), 'abc');
  t.is(truncateText('', 3), '');
});

test('word boundaries follow the Unicode rules', (t) => {
  t.is(countWords("can't stop 3.14, e.g. — !?"), 4);
  t.is(countWords('ภาษาไทย'), 2);
  t.is(countWords(''), 0);
});

test('words of any script and punctuation are those of the segmenter of Unicode', (t) => {
  const segmenter = new Intl.Segmenter('en', { granularity: 'word' });
  const pieces =
    "boat boat's 3 1,000 3.14 a.b a..b _ a_b a:b e.g. x-ray , ' \" ! é e\u0301 \u0301 \u00a0 \u00ad \u200d 😀 🇩🇪 ภาษาไทย 日本語 カタカナ א 한국 １２ ’".split(
      ' ',
    );
  for (const first of pieces)
    for (const second of pieces)
      for (const between of ['', ' ', '\n', '.', "'"]) {
        const text = `${first}${between}${second}`;
        const wanted = [...segmenter.segment(text)].filter(({ isWordLike }) => isWordLike === true);
        t.is(countWords(text), wanted.length, JSON.stringify(text));
      }
});

/** The signatures of HTML in the MIME Sniffing Standard, section 7.1, step 1, each followed by a space or `>`. */
const SIGNATURES =
  '<!DOCTYPE HTML|<HTML|<HEAD|<SCRIPT|<IFRAME|<H1|<DIV|<FONT|<TABLE|<A|<STYLE|<TITLE|<B|<BODY|<BR|<P'.split(
    '|',
  );
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

test('a page with a signature of HTML is HTML, whatever its declared type', (t) => {
  for (const signature of SIGNATURES)
    for (const text of [`${signature}>`, `${signature} x`, ` \t\r\n${signature.toLowerCase()}>`]) {
      t.true(isHtml(bytesOf(text), null), text);
      t.true(isHtml(bytesOf(text), 'image/png'), text);
    }
  for (const text of ['<!--', '<!-- x -->', '\u{feff}<html>']) t.true(isHtml(bytesOf(text), null), text);
  for (const text of ['<px>', '<htmlx>', 'x<html>', '<?xml version="1.0"?><p>', '<?xml version="1.0"?><svg>'])
    t.false(isHtml(bytesOf(text), null), text);
});
