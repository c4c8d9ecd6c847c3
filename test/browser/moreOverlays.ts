import { article, document, LOREM, type OverlayPage } from './overlayPages.ts';

/**
 * Returns a page with an overlay. `@` in `body` is replaced by the content of the page; without `@`, the content
 * follows `body`.
 */
const over = (
  name: string,
  style: string,
  body: string,
  gone: readonly string[],
  page = article(),
): OverlayPage => ({
  name,
  html: document(name, style, body.includes('@') ? body.replace('@', page) : `${page}${body}`),
  gone,
});
const SHORT = '<h1>The last ferry</h1><p>It left at six.</p><div style="height:2000px"></div>';
const FOOT = '.x{position:fixed;bottom:0;left:0;right:0;background:#222;color:#fff;padding:14px}';
const BOX = 'position:fixed;top:25%;left:50%;margin-left:-250px;width:500px;background:#fff;z-index:1000';
const BACKDROP = '.v{position:fixed;inset:0;background:rgba(0,0,0,.5);z-index:999}';

export const MORE_OVERLAYS: readonly OverlayPage[] = [
  over(
    'banner longer than its page',
    FOOT,
    '<div class="x"><p>We and our 842 partners store and access information on a device, such as cookies, to process personal data. You may accept or manage your choices, or object where legitimate interest is used, at any time in the privacy policy.</p><button>Manage options</button><button>Agree</button></div>',
    ['.x'],
    SHORT,
  ),
  over(
    'wall longer than its page',
    '.x{position:fixed;inset:0;background:#fff;z-index:99999}',
    `<div class="x"><h2>Wir schätzen Ihre Privatsphäre</h2><p>${'Wir und unsere Partner verarbeiten personenbezogene Daten, zum Beispiel mit Cookies. '.repeat(15)}</p><button>Zustimmen und weiter</button><button>Abo abschließen</button></div>`,
    ['.x'],
    `<h1>The last ferry</h1><p>${LOREM}</p><div style="height:2000px"></div>`,
  ),
  over(
    'clickable element that is not a button',
    FOOT,
    '<div class="x"><span>This website uses <a href="#">cookies</a> to ensure you get the best experience.</span><div style="cursor:pointer">Got it!</div></div>',
    ['.x'],
  ),
  over(
    'only a close symbol',
    FOOT,
    '<div class="x">By using this website you agree to our use of cookies. <span>×</span></div>',
    ['.x'],
  ),
  over(
    'bar at the top in normal flow',
    '.cookie-notice{background:#eee;padding:9px}',
    '<div class="cookie-notice" role="region"><h2>Cookies on this service</h2><p>We use some essential cookies to make this service work.</p><button>Accept additional cookies</button><button>Reject additional cookies</button><a href="#">View cookies</a></div>@',
    ['.cookie-notice'],
  ),
  over(
    'notice within a fixed header',
    'header{position:fixed;top:0;left:0;right:0;background:#eee}',
    '<header><div id="cookie-note">We use cookies. <button>Accept</button></div><nav><a href="#">Home</a> <a href="#">Shop</a></nav></header>',
    ['#cookie-note'],
  ),
  over(
    'footer that asks for consent',
    'footer{position:fixed;bottom:0;left:0;right:0;background:#eee}',
    '<footer>We use cookies on this site. <button>Accept</button> <a href="#">Privacy policy</a></footer>',
    ['footer'],
  ),
  over(
    'aside that asks for consent',
    'aside{position:fixed;right:20px;bottom:20px;width:300px;background:#eee}',
    '<aside>Questo sito usa i cookie. <button>Accetta</button> <button>Rifiuta</button></aside>',
    ['aside'],
  ),
  over(
    'choices with checkboxes and a table',
    `.x{${BOX}}`,
    '<div class="x" role="dialog"><h2>Privacy preferences</h2><p>We use cookies. Choose which to allow.</p><label><input type="checkbox">Statistics</label><label><input type="checkbox">Marketing</label><table><tr><td>_ga</td><td>2 years</td></tr></table><button>Allow selection</button><button>Allow all</button></div>',
    ['.x'],
  ),
  over(
    'drawer with choices',
    '.x{position:fixed;left:0;top:0;bottom:0;width:380px;background:#fff}',
    '<div class="x"><h2>Our use of cookies</h2><p>We use necessary cookies to make our site work.</p><button>Accept recommended settings</button><button>Reject all</button><button>×</button></div>',
    ['.x'],
  ),
  over(
    'backdrop by opacity, box without a known word',
    `.v{position:fixed;top:0;left:0;width:100vw;height:100vh;background:#000;opacity:.5;z-index:999}.x{${BOX}}`,
    '<div class="v"></div><div class="x"><button class="btn-close" aria-label="Close"></button><h2>Lorem ipsum dolor</h2><input placeholder="amet"><button>Consectetur</button></div>',
    ['.v', '.x'],
  ),
  over(
    'box with a close icon',
    `${BACKDROP}.x{${BOX}}`,
    '<div class="v"></div><div class="x"><i class="icon-close"></i><h2>Win a trip to the islands</h2><p>Play now</p><a href="#">Play</a></div>',
    ['.v', '.x'],
  ),
  over(
    'absolutely positioned backdrop and box',
    '.v{position:absolute;top:0;left:0;right:0;height:100vh;background:rgba(0,0,0,.6);z-index:500}.x{position:absolute;top:200px;left:400px;width:400px;background:#fff;z-index:501}',
    '<div class="v"></div><div class="x"><p>We use cookies to personalise content.</p><button>Allow all</button><button>Deny</button></div>',
    ['.v', '.x'],
  ),
  over(
    'newsletter box in the corner without a close button',
    '.x{position:fixed;right:20px;bottom:20px;width:320px;background:#fff}',
    '<div class="x"><p>Never miss a story. Subscribe to our newsletter.</p><input type="email"><button>Subscribe</button></div>',
    ['.x'],
  ),
  over(
    'large panel without a known word',
    '.x{position:fixed;bottom:0;left:0;right:0;height:45vh;background:#fcc}',
    '<div class="x"><h2>Our summer festival is back</h2><p>Three days by the sea.</p><a href="#">Tickets</a> <button>×</button></div>',
    ['.x'],
  ),
  over(
    'banner in a frame without a name',
    'iframe{position:fixed;bottom:0;left:0;width:100%;height:120px;border:0;background:#fff}',
    '<iframe srcdoc="<p>We use cookies to improve this site.</p><button>Accept</button><button>Reject</button>"></iframe>',
    ['iframe'],
  ),
];
