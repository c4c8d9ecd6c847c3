import test from 'ava';
import { OVERLAY_PATTERNS } from '../../activities/browser/overlayPatterns.ts';
import { checkRegex, findRegexes } from '../helpers/regexes.ts';

const FOLDERS = [
  'api',
  'activities',
  'workflows',
  'workers',
  'schemas',
  'platform',
  'store',
  'egress',
  'dev',
];

/** Files that build regular expressions at run time, and what is checked instead of their source. */
const COMPUTED: Readonly<Record<string, string>> = {
  'activities/browser/overlayPatterns.ts': 'its results, `OVERLAY_PATTERNS`, below',
  'activities/browser/page/overlays/text.ts': '`OVERLAY_PATTERNS`, below',
  'activities/pdf/rebuild.ts': 'names of entries, which consist of letters',
  'dev/generatedText.ts': 'names of generated parts, which consist of letters',
};

const { literal, computed } = findRegexes(FOLDERS);
const unique = [...new Map(literal.map((it) => [`/${it.source}/${it.flags}`, it])).values()];

test('the regular expressions of the source are found', (t) => {
  t.true(unique.length > 150);
  for (const folder of FOLDERS.filter((name) => name !== 'workflows'))
    t.true(
      literal.some(({ at }) => at.startsWith(`${folder}/`)),
      folder,
    );
});

test('only the listed files build regular expressions at run time', (t) => {
  t.deepEqual([...new Set(computed)].sort(), Object.keys(COMPUTED));
});

test.serial('the check distinguishes a quadratic pattern from a linear one', async (t) => {
  t.is((await checkRegex(String.raw`^charset\s*=\s*"?([^"]*)"?$`, '')).status, 'vulnerable');
  t.is((await checkRegex('(a+)+$', '')).status, 'vulnerable');
  t.is((await checkRegex(String.raw`^\s+x`, '')).status, 'safe');
});

/** Patterns that the check cannot decide: they have thousands of phrases, many of which contain `\p{L}*`. */
const UNDECIDED: Readonly<Record<string, string>> = {
  uses: 'only for texts of at most 5,000 characters: activities/browser/page/overlays/classify.ts',
  privacy: 'the same',
};

/** The beginning of a result, whose attack can have 100,000 characters. */
const described = (result: unknown): string => JSON.stringify(result).slice(0, 500);

for (const { at, source, flags } of unique)
  test.serial(`${at}: no input makes this pattern slow: /${source}/${flags}`, async (t) => {
    const { status, ...rest } = await checkRegex(source, flags);
    t.is(status, 'safe', described(rest));
  });

for (const [name, source] of Object.entries(OVERLAY_PATTERNS))
  if (!Object.hasOwn(UNDECIDED, name))
    test.serial(`the overlay pattern ${name}: no input makes it slow`, async (t) => {
      const { status, ...rest } = await checkRegex(source, 'u');
      t.is(status, 'safe', described(rest));
    });
