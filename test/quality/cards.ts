import sharp from 'sharp';
import { createRandom, type Random } from '../helpers/random.ts';

/** Markup as it is sent to services that turn HTML into images. */
export interface Card {
  kind: (typeof KINDS)[number];
  /** Whether the page has boxes and pictures only. */
  isTextFree: boolean;
  /** Whether every text is one line, in a font that the page names, with a line height. */
  isPlain: boolean;
  html: string;
}

const KINDS = ['card', 'receipt', 'banner'] as const;
/** Colour schemes: page, surface, text, muted text, accent. */
const PALETTES = [
  ['#f3f4f6', '#ffffff', '#111827', '#6b7280', '#2563eb'],
  ['#0f172a', '#1e293b', '#f8fafc', '#94a3b8', '#38bdf8'],
  ['#fff7ed', '#ffffff', '#431407', '#9a3412', '#ea580c'],
  ['#ecfdf5', '#ffffff', '#064e3b', '#4b5563', '#059669'],
  ['#fdf2f8', '#fffbfe', '#500724', '#831843', '#db2777'],
  ['#ffffff', '#fafafa', '#222222', '#777777', '#7c3aed'],
] as const;
const FONTS = [
  'Arial, sans-serif',
  "'Helvetica Neue', Arial, sans-serif",
  "-apple-system, 'Segoe UI', Roboto, sans-serif",
  "Inter, 'Noto Sans', sans-serif",
  "'DejaVu Sans', Verdana, sans-serif",
  'Georgia, serif',
] as const;
const WORDS = (
  'order summary harbour coffee light weekly design studio garden winter market ticket café número größe système ' +
  'invoice account update new release build faster deploy team travel hotel night table river green paper digital'
).split(' ');
const NAMES = ['Ada Lindqvist', 'Jörg Weiß', 'María Núñez', 'Tomás Ødegård', 'Chloé Martin', 'Sam Okafor'];
const EMOJI = ['🎉', '🚀', '☕', '⭐', '✅', '❤️'];

type Style = Readonly<Record<string, string>>;

/** Pictures as data URIs, of the formats that such pages contain. */
async function inlinePictures(): Promise<string[]> {
  const [width, height] = [120, 90];
  const data = Buffer.alloc(3 * width * height);
  for (let at = 0; at < width * height; at++) {
    const [x, y] = [at % width, Math.floor(at / width)];
    data.set([(255 * x) / width, (255 * y) / height, 128 + 120 * Math.sin((x + y) / 9)], 3 * at);
  }
  const picture = sharp(data, { raw: { width, height, channels: 3 } });
  const uri = (type: string, bytes: Buffer) => `data:image/${type};base64,${bytes.toString('base64')}`;
  const logo = `<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64" viewBox="0 0 64 64"><rect width="64" height="64" rx="14" fill="#2563eb"/><circle cx="32" cy="32" r="16" fill="#fff"/></svg>`;
  return [
    uri('png', await picture.png().toBuffer()),
    uri('jpeg', await picture.jpeg({ quality: 90 }).toBuffer()),
    uri('svg+xml', Buffer.from(logo)),
  ];
}

/** Writes elements with inline styles, or with classes of a style sheet. */
class Markup {
  readonly #rules: string[] = [];
  readonly #isInline: boolean;
  readonly #isBorderBox: boolean;
  readonly #isTextFree: boolean;

  constructor(random: Random, isTextFree: boolean) {
    this.#isTextFree = isTextFree;
    this.#isInline = random.integer(0, 1) === 0;
    this.#isBorderBox = random.integer(0, 1) === 0;
  }

  element(tag: string, style: Style, children: string | readonly string[] = [], attributes = ''): string {
    const text = Object.entries(style)
      .map(([name, value]) => `${name}:${value}`)
      .join(';');
    const content = [children].flat().join('');
    const end = tag === 'img' || tag === 'hr' ? '' : `${content}</${tag}>`;
    if (text === '') return `<${tag}${attributes}>${end}`;
    if (this.#isInline) return `<${tag}${attributes} style="${text}">${end}`;
    this.#rules.push(`.c${this.#rules.length}{${text}}`);
    return `<${tag}${attributes} class="c${this.#rules.length - 1}">${end}`;
  }

  box(style: Style, ...children: readonly string[]): string {
    return this.element('div', style, children);
  }

  /** A text; on a page without text, a bar in its colour. @param size font size in CSS pixels */
  text(tag: string, size: number, style: Style, content: string): string {
    if (!this.#isTextFree) return this.element(tag, { 'font-size': `${size}px`, ...style }, content);
    const width = Math.min(560, Math.round(content.length * size * 0.5));
    const background = style.color ?? '#94a3b8';
    return this.box({
      width: `${width}px`,
      height: `${size}px`,
      background,
      'border-radius': '3px',
      margin: '4px 0',
    });
  }

  /** The whole document. */
  page(body: Style, content: string): string {
    const inner = this.element('body', body, content);
    const rules = [...(this.#isBorderBox ? ['*{box-sizing:border-box}'] : []), ...this.#rules];
    const sheet = rules.length === 0 ? '' : `<style>${rules.join('\n')}</style>`;
    return `<!doctype html><html><head><meta charset="utf-8">${sheet}</head>${inner}</html>`;
  }
}

/** Colours, pictures and helpers that the parts of one page share. */
interface Look {
  random: Random;
  markup: Markup;
  pictures: readonly string[];
  isTextFree: boolean;
  page: string;
  surface: string;
  ink: string;
  muted: string;
  accent: string;
}

const chance = (random: Random, percent: number): boolean => random.integer(1, 100) <= percent;
const words = (random: Random, count: number): string => {
  const text = Array.from({ length: count }, () => random.pick(WORDS)).join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
};
const price = (random: Random): string => `€ ${random.integer(1, 99)}.${random.integer(10, 99)}`;
const withEmoji = (random: Random, text: string): string =>
  chance(random, 15) ? `${text} ${random.pick(EMOJI)}` : text;

function backgroundOf({ random, page, accent }: Look): string {
  const angle = random.pick([90, 120, 135, 160, 180]);
  return random.pick([
    page,
    page,
    `linear-gradient(${angle}deg, ${page}, ${accent})`,
    `linear-gradient(to right, ${accent} 0%, ${page} 60%, ${accent} 100%)`,
    `radial-gradient(circle at 30% 20%, ${accent}, ${page})`,
  ]);
}

function surfaceOf({ random, surface, muted }: Look): Record<string, string> {
  return {
    background: surface,
    padding: `${random.pick([12, 16, 20, 24, 32])}px`,
    ...(chance(random, 60) ? { border: `${random.integer(1, 3)}px solid ${muted}` } : {}),
    ...(chance(random, 75) ? { 'border-radius': `${random.pick([4, 8, 12, 16, 24])}px` } : {}),
    ...(chance(random, 60)
      ? {
          'box-shadow': `0 ${random.integer(1, 12)}px ${random.integer(4, 40)}px rgba(0,0,0,0.${random.integer(1, 3)})`,
        }
      : {}),
  };
}

function image({ random, markup, pictures }: Look, width: number, height: number, radius: string): string {
  const fit = chance(random, 50) ? { 'object-fit': 'cover' } : {};
  const style = { width: `${width}px`, height: `${height}px`, 'border-radius': radius, ...fit };
  return markup.element('img', style, [], ` src="${random.pick(pictures)}"`);
}

function pills(look: Look): string {
  const { random, markup, accent } = look;
  const all = Array.from({ length: random.integer(2, 6) }, () =>
    markup.box(
      {
        background: accent,
        color: '#ffffff',
        padding: '4px 10px',
        'border-radius': '999px',
        'font-size': '12px',
      },
      look.isTextFree ? markup.text('span', 12, { color: '#ffffff' }, words(random, 1)) : words(random, 1),
    ),
  );
  return markup.box({ display: 'flex', 'flex-wrap': 'wrap', gap: '8px', margin: '12px 0' }, ...all);
}

function progress({ random, markup, page, accent }: Look): string {
  const bar = markup.box({ width: `${random.integer(5, 95)}%`, height: '100%', background: accent });
  return markup.box(
    { height: '10px', background: page, 'border-radius': '5px', overflow: 'hidden', margin: '10px 0' },
    bar,
  );
}

function chart({ random, markup, accent, muted }: Look): string {
  const bars = Array.from({ length: random.integer(4, 9) }, (_, at) =>
    markup.box({ flex: '1', height: `${random.integer(10, 100)}%`, background: at % 2 ? accent : muted }),
  );
  return markup.box({ display: 'flex', 'align-items': 'flex-end', gap: '6px', height: '120px' }, ...bars);
}

function list({ random, markup, ink, isTextFree }: Look): string {
  const items = Array.from({ length: random.integer(2, 5) }, () => words(random, random.integer(2, 5)));
  if (isTextFree) return items.map((item) => markup.text('div', 14, { color: ink }, item)).join('');
  return markup.element(
    chance(random, 50) ? 'ul' : 'ol',
    { color: ink, 'font-size': '14px' },
    items.map((item) => markup.element('li', {}, item)),
  );
}

function drawCard(look: Look): string {
  const { random, markup, ink, muted, accent } = look;
  const size = random.pick([40, 48, 64, 72]);
  const header = markup.box(
    { display: 'flex', 'align-items': 'center', gap: '14px' },
    image(look, size, size, '50%'),
    markup.box(
      {},
      markup.text('h2', random.pick([18, 20, 24]), { color: ink, margin: '0' }, random.pick(NAMES)),
      markup.text('p', 13, { color: muted, margin: '4px 0' }, words(random, 3)),
    ),
  );
  const parts = [
    () =>
      markup.text(
        'p',
        15,
        { color: ink, 'line-height': '1.5' },
        withEmoji(random, `${words(random, random.integer(8, 40))}.`),
      ),
    () => pills(look),
    () => progress(look),
    () => chart(look),
    () => list(look),
    () => image(look, random.integer(120, 280), random.integer(80, 160), '8px'),
  ].filter(() => chance(random, 50));
  const footer = markup.box(
    {
      display: 'flex',
      'justify-content': 'space-between',
      'align-items': 'center',
      'border-top': `1px solid ${muted}`,
      'margin-top': '12px',
      'padding-top': '12px',
    },
    markup.text('span', 14, { color: muted }, price(random)),
    markup.box(
      { background: accent, color: '#fff', padding: '8px 16px', 'border-radius': '6px' },
      markup.text('span', 14, { color: '#ffffff', 'font-weight': 'bold' }, words(random, 2)),
    ),
  );
  return markup.box(
    { width: `${random.integer(280, 640)}px`, ...surfaceOf(look) },
    header,
    ...parts.map((part) => part()),
    footer,
  );
}

function drawReceipt(look: Look): string {
  const { random, markup, ink, muted, isTextFree } = look;
  const rows = Array.from(
    { length: random.integer(3, 10) },
    () => [words(random, random.integer(1, 3)), price(random)] as const,
  );
  const right = { 'text-align': 'right' };
  const asTable = (cells: typeof rows) =>
    markup.element(
      'table',
      { width: '100%', 'border-collapse': 'collapse', 'font-size': '14px', color: ink },
      cells.map(([name, sum]) =>
        markup.element('tr', {}, [
          markup.element('td', { padding: '4px 0' }, name),
          markup.element('td', { padding: '4px 0', ...right }, sum),
        ]),
      ),
    );
  const asFlex = (cells: typeof rows) =>
    cells
      .map(([name, sum]) =>
        markup.box(
          { display: 'flex', 'justify-content': 'space-between', padding: '3px 0' },
          markup.text('span', 14, { color: ink }, name),
          markup.text('span', 14, { color: ink }, sum),
        ),
      )
      .join('');
  const rule = markup.box({
    'border-top': `1px ${random.pick(['dashed', 'solid', 'dotted'])} ${muted}`,
    margin: '10px 0',
  });
  const barcode = markup.box(
    { display: 'flex', 'justify-content': 'center', height: '48px', 'margin-top': '14px' },
    ...Array.from({ length: 40 }, () =>
      markup.box({
        width: `${random.integer(1, 4)}px`,
        'margin-right': `${random.integer(1, 3)}px`,
        background: ink,
      }),
    ),
  );
  return markup.box(
    { width: `${random.integer(260, 420)}px`, ...surfaceOf(look) },
    markup.text('h1', 22, { color: ink, 'text-align': 'center', margin: '0 0 6px' }, words(random, 2)),
    markup.text(
      'p',
      12,
      { color: muted, 'text-align': 'center', margin: '0' },
      `2026-0${random.integer(1, 9)}-1${random.integer(0, 9)} 14:${random.integer(10, 59)}`,
    ),
    rule,
    isTextFree || chance(random, 40) ? asFlex(rows) : asTable(rows),
    rule,
    asFlex([['Total', price(random)]]),
    ...(chance(random, 50) ? [barcode] : []),
    markup.text(
      'p',
      12,
      { color: muted, 'text-align': 'center' },
      withEmoji(random, 'Thank you for your visit!'),
    ),
  );
}

function drawBanner(look: Look): string {
  const { random, markup, ink, muted, accent } = look;
  const circles = Array.from({ length: random.integer(0, 4) }, () => {
    const side = random.integer(60, 320);
    return markup.box({
      position: 'absolute',
      left: `${random.integer(0, 1000)}px`,
      top: `${random.integer(0, 500)}px`,
      width: `${side}px`,
      height: `${side}px`,
      background: accent,
      opacity: `0.${random.integer(1, 6)}`,
      'border-radius': random.pick(['50%', '50%', '20px', '0']),
      ...(chance(random, 25) ? { transform: `rotate(${random.integer(5, 60)}deg)` } : {}),
    });
  });
  const content = markup.box(
    {
      position: 'relative',
      display: 'flex',
      'flex-direction': 'column',
      'justify-content': 'center',
      height: '100%',
      padding: '0 80px',
    },
    ...(chance(random, 60) ? [image(look, 72, 72, '16px')] : []),
    markup.text(
      'h1',
      random.pick([48, 56, 64, 80]),
      {
        color: ink,
        margin: '20px 0 12px',
        'line-height': '1.1',
        ...(chance(random, 20) ? { 'text-shadow': '0 2px 6px rgba(0,0,0,0.4)' } : {}),
      },
      withEmoji(random, words(random, random.integer(2, 7))),
    ),
    markup.text('p', 24, { color: muted, margin: '0' }, words(random, random.integer(4, 12))),
    ...(chance(random, 40) ? [pills(look)] : []),
  );
  const height = random.pick([400, 630, 630, 900]);
  return markup.box(
    {
      position: 'relative',
      width: height === 900 ? '1440px' : '1200px',
      height: `${height}px`,
      overflow: 'hidden',
      background: backgroundOf(look),
    },
    ...circles,
    content,
  );
}

/** Lines of text at fixed places on boxes of one colour, the least that a card can be. */
function drawPlain({ random, markup, page, surface, ink, accent }: Look): string {
  const lines = Array.from({ length: random.integer(1, 6) }, (_, at) => {
    const size = random.pick([14, 16, 20, 28, 40]);
    const style = {
      ...{ position: 'absolute', left: `${random.integer(20, 60)}px`, top: `${20 + at * 56}px` },
      ...{ 'font-size': `${size}px`, 'line-height': `${size + 8}px`, 'white-space': 'nowrap' },
      ...{ color: ink, 'font-family': 'Arial' },
    };
    return markup.element('div', style, words(random, random.integer(1, 4)));
  });
  const bar = markup.box({
    position: 'absolute',
    left: '0',
    top: '0',
    width: '12px',
    height: '100%',
    background: accent,
  });
  const style = {
    position: 'relative',
    width: '800px',
    height: '400px',
    background: random.pick([page, surface]),
  };
  return markup.box(style, bar, ...lines);
}

const DRAWINGS = { card: drawCard, receipt: drawReceipt, banner: drawBanner };

/**
 * Makes pages from a seed. A fifth has no text. Every tenth is as plain as a page with text can be.
 */
export async function makeCards(count: number, seed: number): Promise<Card[]> {
  const pictures = await inlinePictures();
  return Array.from({ length: count }, (_, at) => {
    const random = createRandom(seed * 1000 + at + 1);
    // The first numbers of neighbouring seeds are alike.
    for (let skipped = 0; skipped < 8; skipped++) random.integer(0, 1);
    const kind = KINDS[at % KINDS.length] ?? 'card';
    const isPlain = at % 10 === 9;
    const isTextFree = !isPlain && at % 5 === 0;
    const markup = new Markup(random, isTextFree);
    const [page, surface, ink, muted, accent] = random.pick(PALETTES);
    const look: Look = { random, markup, pictures, isTextFree, page, surface, ink, muted, accent };
    const drawing = isPlain ? drawPlain(look) : DRAWINGS[kind](look);
    const isCentred = kind !== 'banner' && !isPlain && chance(random, 60);
    const body = {
      ...(chance(random, 80) || isPlain ? { margin: '0' } : {}),
      'font-family':
        kind === 'receipt' && chance(random, 50) ? "'Courier New', monospace" : random.pick(FONTS),
      background: kind === 'banner' || isPlain ? '#ffffff' : backgroundOf(look),
      ...(isCentred
        ? { display: 'flex', 'align-items': 'center', 'justify-content': 'center', 'min-height': '100vh' }
        : {}),
    };
    return { kind, isTextFree, isPlain, html: markup.page(body, drawing) };
  });
}
