import { article, type CleanPage, document, LOREM } from './overlayPages.ts';

const clean = (name: string, style: string, body: string): CleanPage => ({
  name,
  html: document(name, style, body),
});
/** An article without semantic elements. */
const plainArticle = `<div class="wrap"><h1>The last ferry</h1>${`<p>${LOREM}</p>`.repeat(8)}</div>`;
const PICTURE = `<img width="300" height="200" alt="" src="data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200"><rect width="300" height="200" fill="teal"/></svg>')}">`;
const links = (...texts: string[]): string => texts.map((text) => `<a href="#">${text}</a>`).join(' ');

const ROOT = '#root{position:fixed;inset:0;overflow:auto;background:#fff}';
const FOOTER = `<div class="foot">© Acme ${links('Privacy', 'Cookie settings')}</div>`;
const TOP = `<div class="top">${links('Home', 'Products')}</div>`;
const ROOTS: readonly CleanPage[] = [
  clean('root with a picture', ROOT, `<div id="root">${TOP}${plainArticle}${PICTURE}${FOOTER}</div>`),
  clean(
    'root beside a portal',
    ROOT,
    `<div id="root">${TOP}${plainArticle}${FOOTER}</div><div id="portal">${PICTURE}<p>Offline copy saved on this device.</p></div>`,
  ),
  clean(
    'root with a newsletter form',
    ROOT,
    `<div id="root">${TOP}${plainArticle}<p>Subscribe to our newsletter</p><input type="email"><button>Sign up</button> <button>Close</button></div>${PICTURE}`,
  ),
  clean(
    'root that contains a notice',
    ROOT,
    `<div id="root">${TOP}${plainArticle}<p>We use cookies to keep you signed in. <a href="#">Accept</a></p></div><p>You need to enable scripts to run this application here.</p>`,
  ),
  clean(
    'scroller beside a side bar',
    '.side{position:fixed;inset:0 auto 0 0;width:200px}.pane{position:fixed;inset:0 0 0 200px;overflow:auto}',
    `<div class="side">${links('Inbox', 'Privacy', 'Settings')}</div><div class="pane">${plainArticle}<p>Join our newsletter</p><input type="email"><button>Subscribe</button></div>`,
  ),
  clean(
    'root that is an article about consent',
    ROOT,
    `<div id="root">${TOP}<div><h1>Cookie consent</h1><p>This is how we use cookies. You may accept or reject them.</p>${`<p>${LOREM}</p>`.repeat(6)}<button>Accept</button><button>Reject</button></div></div><div>${PICTURE}</div>`,
  ),
  clean(
    'page within one frame',
    'iframe{position:fixed;inset:0;width:100%;height:100%;border:0;z-index:5}',
    `<iframe srcdoc="<h1>The last ferry</h1><p>${LOREM}</p>"></iframe><p>Your browser shows this page in a frame of its own, as it always has.</p>`,
  ),
];

const BAR = '.bar{position:sticky;top:0;background:#efe;padding:15px}';
const FIXED = '.bar{position:fixed;top:0;left:0;right:0;background:#efe;padding:15px}';
const FOOT = '.bar{position:fixed;bottom:0;left:0;right:0;background:#efe;padding:15px}';
const BARS: readonly CleanPage[] = [
  clean(
    'header named banner',
    'header{position:sticky;top:0;background:#efe}',
    `<header class="banner"><b>Acme</b> ${links('Home', 'Privacy', 'Settings')}</header>${article()}`,
  ),
  clean(
    'sticky footer with legal links',
    'footer{position:sticky;bottom:0;background:#efe}',
    `${article()}<footer>© Acme ${links('Privacy', 'Cookie settings', 'Terms')}</footer>`,
  ),
  clean(
    'fixed bar of links',
    FIXED,
    `<div class="bar">${links('Home', 'Subscribe', 'Privacy', 'Settings')} <button>Menu</button></div>${article()}`,
  ),
  clean(
    'sticky bar of links',
    BAR,
    `<div class="bar"><b>Acme</b> ${links('Home', 'Partners', 'Settings')}</div>${article()}`,
  ),
  clean(
    'bar of a magazine with a form',
    FIXED,
    `<div class="bar"><b>Newsletter Weekly</b> ${links('Home', 'Subscribe')} <form style="display:inline"><input type="email" placeholder="email"><button>Sign up</button></form></div>${article()}`,
  ),
  clean(
    'bakery',
    BAR,
    `<div class="bar"><b>Grandma’s Cookies</b> ${links('Recipes', 'Chocolate cookies', 'Continue')}</div>${article()}`,
  ),
  clean(
    'recipe with sticky steps',
    FOOT,
    `<main><h1>Oat cookies</h1><p>${LOREM}</p><p>Let the cookies cool on a rack.</p></main>${article()}<div class="bar">Step 2 of 9: put the cookies into the oven. <button>Continue</button> <button>OK</button></div>`,
  ),
  clean(
    'hero of a consent tool',
    '.hero{position:sticky;top:0;height:60vh;background:#efe}',
    `<div class="hero"><h1>Privacy matters</h1><p>We build tools for GDPR consent.</p>${links('Manage preferences', 'Get started')}</div>${article()}`,
  ),
  clean(
    'product price with a buy button',
    FOOT,
    `${article()}<div class="bar">Blue chair € 49, now 20 % off <button>Add to cart</button></div>`,
  ),
  clean(
    'unsaved changes',
    FOOT,
    `${article()}<div class="bar">You have not saved your privacy settings. <button>Save</button> <button>Discard</button></div>`,
  ),
  clean(
    'checkout step',
    FOOT,
    `${article()}<div class="bar">By continuing you agree to our ${links('Terms', 'Privacy policy')}. <button>Continue</button></div>`,
  ),
  clean('letter index', BAR, `<div class="bar">${links('A', 'C', 'X')} <span>x</span></div>${article()}`),
];

const LEGAL: readonly [language: string, title: string, line: string, menu: string][] = [
  ['en', 'Cookie policy', 'How we use cookies, and how you can accept or reject them.', 'Close menu'],
  ['de', 'Cookie-Richtlinie', 'So verwenden wir Cookies und holen Ihre Einwilligung ein.', 'Menü schließen'],
  ['fr', 'Politique de confidentialité', 'Comment nous utilisons les cookies.', 'Fermer le menu'],
  ['pl', 'Polityka prywatności', 'Jak używamy plików cookie na tej stronie.', 'Menu'],
  ['ru', 'Политика конфиденциальности', 'Как мы используем файлы cookie на сайте.', 'Меню'],
  ['ja', 'プライバシーポリシー', '当サイトでのクッキーの使用について。', 'メニュー'],
  ['ar', 'سياسة الخصوصية', 'كيف نستخدم ملفات تعريف الارتباط.', 'القائمة'],
];
const ABOUT: readonly CleanPage[] = [
  ...LEGAL.map(([language, title, line, menu]) =>
    clean(
      `legal page, ${language}`,
      '.head{position:sticky;top:0;background:#fff;padding:12px}',
      `<div class="head"><h1>${title}</h1> <button>${menu}</button></div><main><h2>${title}</h2><p>${line}</p>${`<p>${LOREM}</p>`.repeat(6)}</main>`,
    ),
  ),
  clean(
    'contents about cookies',
    '.toc{position:sticky;top:0;width:300px;background:#efe}',
    `<div class="toc"><h3>Contents</h3><ol><li><a href="#">How cookies work</a></li><li><a href="#">Accept header</a></li><li><a href="#">Newsletter</a></li></ol></div>${article()}`,
  ),
  clean(
    'contents without links',
    '.toc{position:fixed;top:100px;right:0;width:220px;background:#efe}',
    `<div class="toc"><b>On this page</b><ul><li>How we use cookies</li><li>What you accept under the GDPR</li></ul><button>Close</button></div>${article()}`,
  ),
  clean(
    'documentation of a consent banner',
    '.cookie-banner{border:1px solid;padding:20px}',
    `<main><h1>Banners</h1><div class="cookie-banner"><p>We use cookies.</p><button>Accept</button><button>Reject</button></div>${`<p>${LOREM}</p>`.repeat(6)}</main>`,
  ),
  clean(
    'privacy settings',
    '.app{position:fixed;inset:0;overflow:auto;background:#fff}',
    `<p>Signed in as somebody whose name is longer than one would think.</p><div class="app"><h1>Privacy settings</h1><p>Choose how we use cookies on your account.</p><label><input type="checkbox">Analytics</label><button>Accept all</button><button>Save settings</button><p>${LOREM.repeat(8)}</p></div>`,
  ),
  clean(
    'news page with a newsletter form',
    '.card{position:sticky;top:80px;float:right;width:220px;background:#efe}',
    `<div class="card"><h3>Our newsletter</h3><p>Subscribe for one letter a week.</p><input type="email"><button>Subscribe</button></div>${article(4)}<section><h2>Sign up for our newsletter</h2><input type="email" placeholder="Your email"><button>Sign up</button></section>${article(4)}`,
  ),
];

const BOX = 'position:fixed;top:25%;left:50%;margin-left:-250px;width:500px;background:#efe;z-index:1000';
const BACKDROP = '.veil{position:fixed;inset:0;background:rgba(0,0,0,.5);z-index:999}';
const WORK: readonly CleanPage[] = [
  clean(
    'cart drawer',
    `${BACKDROP}.cart{position:fixed;top:0;right:0;bottom:0;width:380px;background:#efe;z-index:1000}`,
    `${article()}<div class="veil"></div><div class="cart" role="dialog" aria-modal="true"><button aria-label="Close">×</button><h2>Your cart</h2><p>Free shipping from € 50</p><p>Blue chair € 49</p><input placeholder="Discount code"><button>Checkout</button></div>`,
  ),
  clean(
    'quick view of a product',
    `${BACKDROP}.quick{${BOX}}`,
    `${article()}<div class="veil"></div><div class="quick" role="dialog" aria-modal="true"><button aria-label="Close">×</button><h2>Blue chair</h2><p>€ 49.00, solid oak</p><button>Add to cart</button></div>`,
  ),
  clean(
    'image lightbox',
    '.light{position:fixed;inset:0;background:rgba(0,0,0,.9);z-index:99;color:#fff}',
    `${article()}<div class="light">${PICTURE}<button aria-label="Close">×</button><p>Photo 3 of 12</p></div>`,
  ),
  clean(
    'mail draft',
    '.app{position:fixed;inset:0;display:flex;background:#fff}.compose{position:fixed;right:30px;bottom:0;width:500px;height:400px;background:#efe}',
    `<div class="app"><div>Inbox Sent Drafts</div><div>One letter</div></div><div class="compose" role="dialog" aria-label="New message"><button aria-label="Close">×</button><input type="email" placeholder="To"><textarea>Subscribe to our newsletter</textarea><button>Send</button></div>`,
  ),
  clean(
    'sign-in box over its page',
    `${BACKDROP}.box{${BOX}}`,
    `${article()}<div class="veil"></div><div class="box"><span>×</span><h2>Sign in</h2><input type="email"><input type="password"><button>Sign in</button></div>`,
  ),
  clean(
    'confirmation',
    `${BACKDROP}.box{${BOX}}`,
    `${article()}<div class="veil"></div><div class="box" role="alertdialog"><p>Remove the last ferry from the list?</p><button>Cancel</button><button>Remove</button></div>`,
  ),
  clean(
    'chat',
    '.chat{position:fixed;inset:60px 0 0 0;display:flex;flex-direction:column;background:#fff}',
    `<div>Harbour talk</div><div class="chat"><div><p>Do we use cookies for the ferry site?</p><p>We do. Subscribe to the newsletter, there is a discount.</p></div><textarea></textarea><button>Send</button><button aria-label="Close chat">×</button></div>`,
  ),
  clean(
    'filters',
    '.side{position:fixed;left:0;top:0;bottom:0;width:280px;background:#efe}',
    `${article()}<div class="side"><h3>Filters</h3><label>Discount <input type="checkbox"></label><label>Free shipping <input type="checkbox"></label><button aria-label="Close filters">x</button><button>Apply</button></div>`,
  ),
  clean(
    'map with directions',
    '.map{position:fixed;inset:0 0 0 300px;background:#efe}.panel{position:fixed;left:0;top:0;bottom:0;width:300px;background:#eee}',
    '<div class="map"><canvas width="500" height="400"></canvas><button>+</button><button>-</button><p>Map</p></div><div class="panel"><h2>Directions</h2><input placeholder="From"><button aria-label="Close directions">×</button></div>',
  ),
  clean(
    'timed quiz',
    '.quiz{position:fixed;top:40%;left:40%;background:#efe;padding:40px}',
    `${article()}<div class="quiz"><h2>12 seconds left</h2><button>Skip</button><button>Answer</button></div>`,
  ),
  clean(
    'confirmation toast',
    '.toast{position:fixed;bottom:20px;left:20px;background:#efe;padding:20px}',
    `${article()}<div class="toast" role="status">Saved. <button>Undo</button> <button aria-label="Close">×</button></div>`,
  ),
  clean(
    'search over its page',
    `${BACKDROP}.box{${BOX}}`,
    `${article()}<div class="veil"></div><div class="box" role="dialog" aria-modal="true"><input type="search" placeholder="Search"><p>The last ferry</p><p>Cookies</p><button aria-label="Close">×</button></div>`,
  ),
];

const PARTS: readonly CleanPage[] = [
  clean(
    'sticky screens',
    '.screen{position:sticky;top:0;height:100vh;background:rgba(255,255,255,.9)}',
    ['One', 'Two: the newsletter', 'Three']
      .map((title) => `<div class="screen"><h2>${title}</h2><p>${LOREM}</p><button>Close</button></div>`)
      .join(''),
  ),
  clean(
    'sticky headings',
    'h2{position:sticky;top:0;background:#fff}',
    ['How we use cookies', 'Subscribe to our newsletter']
      .map((title) => `<h2>${title} <button>Close</button></h2><p>${LOREM.repeat(5)}</p>`)
      .join(''),
  ),
  clean(
    'footer revealed at the end',
    'main{position:relative;background:#fff}.end{position:fixed;bottom:0;left:0;right:0;z-index:-1;height:300px;background:#efe}',
    `${article()}<div class="end"><p>© Acme</p>${links('Privacy', 'Cookie settings', 'Imprint', 'Press')}<h3>Newsletter</h3><p>Subscribe to our newsletter</p><input type="email"><button>Subscribe</button></div>`,
  ),
  clean(
    'reading pane',
    '.list{position:fixed;left:0;top:0;bottom:0;width:400px;overflow:auto}.pane{position:fixed;left:400px;right:0;top:0;bottom:0}',
    `<div class="list">${`<p>${LOREM}</p>`.repeat(9)}</div><div class="pane"><h2>Weekly newsletter</h2><p>Hello, we use cookies to bake.</p><button>Reply</button><button aria-label="Close">×</button></div>`,
  ),
  clean(
    'selected filters',
    BAR,
    `<div class="bar">Filters: <span>Discount <b>×</b></span> <span>Free shipping <b>×</b></span> ${links('Clear')}</div>${article()}`,
  ),
  clean(
    'incoming call',
    FOOT,
    `${article()}<div class="bar">Somebody is calling. <button>Accept</button> <button>Decline</button></div>`,
  ),
  clean(
    'terms to accept',
    FOOT,
    `${article()}<div class="bar">I have read the terms. <button>Accept</button> <button>Decline</button></div>`,
  ),
  clean(
    'consent management product',
    FIXED,
    `<div class="bar"><b>Cookie Consent Manager</b> ${links('Pricing', 'Docs')} <button>Accept invitation</button></div>${article()}`,
  ),
  clean(
    'page that consists of a dialog',
    '.box{background:#fff}',
    `<div class="box" role="dialog" aria-modal="true"><h1>Set up</h1><p>Choose a name for your harbour.</p><input><button>Next</button></div>${PICTURE}`,
  ),
  clean(
    'loading indicator',
    '.wait{position:fixed;inset:0;background:rgba(255,255,255,.8)}',
    `${article()}<div class="wait"><p>Loading the times of the ferries</p></div>`,
  ),
];

export const MORE_CLEAN_PAGES: readonly CleanPage[] = [...ROOTS, ...BARS, ...ABOUT, ...WORK, ...PARTS];
