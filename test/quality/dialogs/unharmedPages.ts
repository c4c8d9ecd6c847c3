import { LANGUAGES } from '../../browser/overlayLanguages.ts';
import { article, document, LOREM } from '../../browser/overlayPages.ts';
import type { Random } from '../../helpers/random.ts';

/** A page without overlays, which must look the same with and without the option. */
interface UnharmedPage {
  name: string;
  html: string;
}

/** Texts of one language about cookies and newsletters, which here belong to the page. */
type Texts = (typeof LANGUAGES)[string];
type Body = readonly [style: string, body: string];
type Kind = (random: Random, texts: Texts) => Body;

const links = (...labels: string[]): string => labels.map((label) => `<a href="#">${label}</a>`).join(' ');
const buttons = (...labels: string[]): string => labels.map((label) => `<button>${label}</button>`).join(' ');
const paragraphs = (count: number): string => `<p>${LOREM}</p>`.repeat(count);
const picture = (random: Random, width = 300, height = 200): string =>
  `<img alt="" width="${width}" height="${height}" src="data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><rect width="${width}" height="${height}" fill="hsl(${random.integer(0, 359)} 60% 50%)"/></svg>`)}">`;
const gallery = (random: Random): string => Array.from({ length: 12 }, () => picture(random)).join(' ');
const close = (random: Random, of = 'Close'): string =>
  random.pick([
    `<button aria-label="${of}">×</button>`,
    `<button>✕</button>`,
    `<button class="close">${of}</button>`,
  ]);
const HEADER = `<header class="h">${links('Home', 'Shop', 'Newsletter', 'Cookies', 'Support us')} <button>Menu</button></header>`;
const HEADER_STYLE = '.h{position:fixed;top:0;left:0;right:0;height:56px;background:#fff;z-index:50}';
const VEIL = '.v{position:fixed;inset:0;background:rgba(0,0,0,.5);z-index:999}';
const box = (random: Random): string =>
  `.b{position:fixed;left:${random.integer(20, 35)}%;top:${random.integer(10, 35)}%;width:${random.integer(320, 560)}px;background:#fff;padding:${random.integer(8, 32)}px;z-index:1000}`;
const modal = (random: Random, content: string, role = 'role="dialog" aria-modal="true"'): Body => [
  `${VEIL}${box(random)}`,
  `${article()}<div class="v"></div><div class="b" ${random.pick([role, role, ''])}>${content}</div>`,
];
const bar = (random: Random, content: string): Body => [
  `.b{position:${random.pick(['fixed', 'sticky'])};bottom:0;left:0;right:0;background:#eef;padding:${random.integer(6, 20)}px}`,
  `${article()}<div class="b">${content}</div>`,
];
const APP = '.app{position:fixed;inset:0;overflow:auto;background:#fff}';

const KINDS: Readonly<Record<string, Kind>> = {
  'article about cookies': (_, { consent, accept, decline }) => [
    HEADER_STYLE,
    `${HEADER}<main><h1>${consent}</h1><p>${consent} ${accept}, ${decline}?</p>${paragraphs(8)}</main>`,
  ],
  'cookie policy with a choice': (_, { consent, accept, decline }) => [
    '',
    `<main><h1>Cookies</h1><p>${consent}</p><table><tr><td>_ga</td><td>2 years</td></tr></table>${buttons(accept, decline)}${paragraphs(7)}</main>`,
  ],
  'example of a cookie banner': (_, { consent, accept, decline }) => [
    '.cookie-banner{border:1px solid;padding:20px}',
    `<main><h1>Banners</h1><p>${LOREM}</p><div class="cookie-banner"><p>${consent}</p>${buttons(accept, decline)}</div>${paragraphs(6)}</main>`,
  ],
  'recipe for cookies': (random) => [
    '.s{position:sticky;top:20px;float:right;width:220px;background:#efe;padding:12px}',
    `<div class="s"><h3>Cookies</h3><ul><li>Flour</li><li>Butter</li><li>Sugar</li></ul>${buttons('Print')}</div><main><h1>Oat cookies</h1>${picture(random)}${paragraphs(7)}</main>`,
  ],
  'shop for cookies': (random) =>
    bar(random, `Our cookies, 12 pieces, € ${random.integer(4, 19)} ${buttons('Add to basket')}`),
  'newsletter form at the end': (_, { newsletter, address, subscribe }) => [
    HEADER_STYLE,
    `${HEADER}${article()}<section><h2>${newsletter}</h2><input type="email" placeholder="${address}">${buttons(subscribe)}</section>`,
  ],
  'newsletter form beside the text': (random, { newsletter, address, subscribe }) => [
    `.s{float:right;width:${random.integer(180, 260)}px;background:#efe;padding:12px}`,
    `<div class="s"><h3>${newsletter}</h3><input type="email" placeholder="${address}">${buttons(subscribe)}</div>${article()}`,
  ],
  'newsletter page': (_, { newsletter, address, subscribe }) => [
    APP,
    `<div class="app"><h1>${newsletter}</h1>${paragraphs(2)}<input type="email" placeholder="${address}">${buttons(subscribe)}</div>`,
  ],
  'sign-in dialog': (random) =>
    modal(
      random,
      `${close(random)}<h2>Sign in</h2><input type="email"><input type="password">${buttons('Sign in', 'Continue with a passkey')}`,
    ),
  'sign-in page': (random) => [
    `.b{position:fixed;left:35%;top:20%;width:${random.integer(280, 420)}px;background:#efe;padding:20px}`,
    `<div class="b"><h1>Welcome back</h1><input type="email"><input type="password">${buttons('Continue')}<p>By continuing you accept our ${links('privacy policy')}.</p></div>`,
  ],
  'second factor': (random) =>
    modal(
      random,
      `<h2>Enter the code</h2><p>We have sent it to your phone.</p><input type="number">${buttons('Verify', 'Cancel')}`,
    ),
  'chat that is the page': (random, { consent, newsletter }) => [
    `.c{position:fixed;inset:0;display:flex;flex-direction:column;background:#fff}`,
    `<div class="c"><div>Harbour talk ${close(random, 'Close chat')}</div><p>${consent}</p><p>${newsletter}</p><p>${LOREM}</p><textarea></textarea>${buttons('Send')}</div>`,
  ],
  'chat beside a list': (random, { consent }) => [
    `.l{position:fixed;left:0;top:0;bottom:0;width:300px;overflow:auto}.c{position:fixed;left:300px;right:0;top:0;bottom:0;background:#eef}`,
    `<div class="l">${paragraphs(3)}</div><div class="c"><p>${consent}</p><p>I accept, said the captain.</p><textarea></textarea>${buttons('Send')}${close(random, 'Close chat')}</div>`,
  ],
  gallery: (random) => [HEADER_STYLE, `${HEADER}<main>${gallery(random)}</main>`],
  lightbox: (random) => [
    '.b{position:fixed;inset:0;background:rgba(0,0,0,.9);color:#fff;z-index:99}',
    `${gallery(random)}${article(3)}<div class="b">${picture(random, 700, 500)}${close(random)}<p>Photo ${random.integer(1, 9)} of 12</p></div>`,
  ],
  'cart drawer': (random) => [
    `${VEIL}.b{position:fixed;top:0;right:0;bottom:0;width:${random.integer(320, 440)}px;background:#efe;z-index:1000}`,
    `${article()}<div class="v"></div><div class="b" role="dialog" aria-modal="true">${close(random)}<h2>Your cart</h2><p>Blue chair € 49</p><p>Free shipping from € 50</p><input placeholder="Discount code">${buttons('Apply', 'Checkout')}</div>`,
  ],
  'quick view': (random) =>
    modal(
      random,
      `${close(random)}${picture(random)}<h2>Blue chair</h2><p>€ ${random.integer(20, 90)}.00, solid oak</p>${buttons('Add to cart')}`,
    ),
  'filters drawer': (random) => [
    `.b{position:fixed;top:0;${random.pick(['left', 'right'])}:0;bottom:0;width:280px;background:#efe}`,
    `${article()}<div class="b"><h3>Filters</h3><label><input type="checkbox">Discount</label><label><input type="checkbox">Free shipping</label>${close(random, 'Close filters')}${buttons('Apply')}</div>`,
  ],
  'confirmation dialog': (random) =>
    modal(
      random,
      `<p>${random.pick(['Delete this ferry?', 'Leave without saving?', 'Cancel the booking?'])}</p>${buttons('Cancel', 'Confirm')}`,
      'role="alertdialog"',
    ),
  'date picker': (random) => [
    `.b{position:absolute;left:${random.integer(20, 50)}%;top:160px;background:#efe;padding:8px;z-index:20}`,
    `${article()}<div class="b"><table><tr><th>Mo</th><th>Tu</th></tr><tr><td>1</td><td>2</td></tr></table>${buttons('Today')}</div>`,
  ],
  'search dialog': (random) =>
    modal(
      random,
      `<input type="search" placeholder="Search"><p>The last ferry</p><p>How we use cookies</p>${close(random)}`,
    ),
  'mini player': (random) =>
    bar(
      random,
      `${buttons('Play', 'Next')} The last ferry, episode ${random.integer(1, 40)} ${close(random, 'Close player')}`,
    ),
  'map with panels': (random) => [
    `.m{position:fixed;inset:0;background:#cde}.b{position:fixed;left:20px;top:20px;width:${random.integer(260, 380)}px;background:#fff;padding:12px}`,
    `<div class="m"><canvas width="500" height="400"></canvas></div><div class="b"><h2>Directions</h2><input placeholder="From"><input placeholder="To">${buttons('Go')}${close(random, 'Close directions')}</div>`,
  ],
  toast: (random) => [
    `.b{position:fixed;${random.pick(['left', 'right'])}:20px;bottom:20px;background:#efe;padding:14px}`,
    `${article()}<div class="b" role="status">${random.pick(['Saved.', 'Link copied.', 'Sent.'])} ${buttons('Undo')} ${close(random)}</div>`,
  ],
  'table of contents': (random, { consent }) => [
    `.b{position:${random.pick(['fixed', 'sticky'])};top:80px;right:0;width:220px;background:#efe}`,
    `<div class="b"><b>On this page</b><ul><li><a href="#">${consent}</a></li><li><a href="#">Accept or reject</a></li></ul>${close(random)}</div>${article()}`,
  ],
  'privacy settings of an account': (_, { consent, accept }) => [
    APP,
    `<div class="app"><nav>${links('Profile', 'Privacy', 'Security')}</nav><h1>Privacy settings</h1><p>${consent}</p><label><input type="checkbox">Statistics</label><label><input type="checkbox">Marketing</label>${buttons('Save', accept)}${paragraphs(3)}</div>`,
  ],
  'prices with a sticky bar': (random) =>
    bar(
      random,
      `Basic € ${random.integer(5, 9)} ${buttons('Subscribe')} Team € ${random.integer(20, 90)} ${buttons('Subscribe')}`,
    ),
  'wizard with a bar': (random) =>
    bar(
      random,
      `Step ${random.integer(1, 4)} of 5 ${random.pick(['', 'By continuing you accept our terms.'])} ${buttons('Back', 'Continue')}`,
    ),
  'booking form with a consent': (random) => [
    '',
    `<main><h1>Book a ferry</h1><form><input placeholder="Name"><input type="email" placeholder="E-mail"><textarea></textarea><label><input type="checkbox"> I consent to the processing of my personal data.</label>${buttons('Book')}</form>${paragraphs(random.integer(3, 7))}</main>`,
  ],
  dashboard: (random) => [
    `${APP}.n{position:fixed;left:0;top:0;bottom:0;width:200px;background:#eee}.app{left:200px}`,
    `<div class="n"><nav>${links('Overview', 'Newsletter', 'Consent', 'Settings')}</nav></div><div class="app"><h1>Newsletter</h1><p>${random.integer(100, 999)} subscribers, ${random.integer(1, 9)} % unsubscribed.</p>${picture(random, 500, 260)}${paragraphs(3)}</div>`,
  ],
  'editor with a floating tool bar': (random) => [
    `.b{position:fixed;top:${random.integer(60, 200)}px;left:40%;background:#333;color:#fff;padding:6px;z-index:500}`,
    `${article()}<div class="b" role="toolbar">${buttons('Bold', 'Italic', 'Link')} ${close(random)}</div>`,
  ],
  game: (random) => [
    '.g{position:fixed;inset:0;background:#024}.b{position:fixed;left:40%;bottom:40px;color:#fff}',
    `<div class="g"><canvas width="800" height="600"></canvas></div><div class="b">Score ${random.integer(0, 999)} ${buttons('Pause', 'Skip')}</div>`,
  ],
  slides: (random) => [
    `.s{position:sticky;top:0;height:100vh;background:hsl(${random.integer(0, 359)} 60% 90%)}`,
    ['One', 'Two', 'Three']
      .map((title) => `<div class="s"><h2>${title}</h2><p>${LOREM}</p>${buttons('Next')}</div>`)
      .join(''),
  ],
  'survey that is the page': (random) => [
    `.b{position:fixed;left:30%;top:20%;width:40%;background:#efe;padding:20px}`,
    `<div class="b"><h1>Survey</h1><p>How often do you take the ferry?</p><label><input type="radio" name="a">Daily</label><label><input type="radio" name="a">Never</label>${buttons('Next')}<p>Question ${random.integer(1, 9)} of 10</p></div>`,
  ],
  'age check that is the page': (random) => [
    `.b{position:fixed;inset:0;background:#111;color:#fff;padding:${random.integer(10, 25)}%}`,
    `<div class="b"><h1>Are you over 18?</h1>${buttons('Yes', 'No')}</div>`,
  ],
  'preferences for mail': (_, { newsletter, subscribe }) => [
    '',
    `<main><h1>Your e-mail preferences</h1><label><input type="checkbox">${newsletter}</label><label><input type="checkbox">Offers</label>${buttons('Save', subscribe)}${paragraphs(2)}</main>`,
  ],
  'event details': (random) => [
    `.b{position:absolute;left:${random.integer(20, 60)}%;top:200px;width:260px;background:#fff;border:1px solid;padding:12px;z-index:150}`,
    `${article()}<div class="b"><h3>Harbour festival</h3><p>Friday, ${random.integer(10, 20)}:00</p>${buttons('Edit', 'Accept', 'Decline')}</div>`,
  ],
  'open menu': (random) => [
    `${HEADER_STYLE}.b{position:fixed;top:56px;left:0;right:0;height:${random.integer(200, 400)}px;background:#fff;z-index:60}`,
    `${HEADER}<div class="b"><nav>${links('Chairs', 'Tables', 'Gift cards', 'Newsletter', 'Discount', 'Cookies')}</nav></div>${article()}`,
  ],
  'incoming call': (random) =>
    bar(random, `${random.pick(['Anna', 'The harbour'])} is calling. ${buttons('Accept', 'Decline')}`),
  'mail draft': (random, { newsletter }) => [
    `${APP}.b{position:fixed;right:30px;bottom:0;width:${random.integer(420, 560)}px;height:380px;background:#efe}`,
    `<div class="app"><nav>${links('Inbox', 'Sent')}</nav>${paragraphs(4)}</div><div class="b" role="dialog">${close(random)}<input placeholder="To"><textarea>${newsletter}</textarea>${buttons('Send')}</div>`,
  ],
};

export const UNHARMED_KINDS = Object.keys(KINDS);

/** Makes a page without overlays. @param index number of the page, which selects its kind */
export function makeUnharmedPage(index: number, random: Random): UnharmedPage {
  const kind = UNHARMED_KINDS[index % UNHARMED_KINDS.length] ?? '';
  const [style, body] = KINDS[kind]?.(random, random.pick(Object.values(LANGUAGES))) ?? ['', ''];
  return { name: `${index + 1}, ${kind}`, html: document(kind, style, body) };
}
