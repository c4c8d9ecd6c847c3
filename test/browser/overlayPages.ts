/** A page with overlays that the tool must hide. */
export interface OverlayPage {
  name: string;
  html: string;
  /** Selectors of the overlays that must be hidden. */
  gone: readonly string[];
}
/** A page without overlays, on which nothing may be hidden. */
export interface CleanPage {
  name: string;
  html: string;
}

export const LOREM =
  'The harbour was quiet that morning, and the ferries lay along the quay as they had for sixty years. Nobody in the town could say when the first of them had come, or who had paid for it.';
export const article = (paragraphs = 12): string =>
  `<main id="content"><h1>The last ferry</h1>${Array.from({ length: paragraphs }, (_, i) => `<p>${i + 1}. ${LOREM}</p>`).join('')}</main>`;
export const document = (title: string, style: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title><style>body{font:16px/1.5 sans-serif;margin:0}main{max-width:760px;margin:80px auto}${style}</style></head><body>${body}</body></html>`;

interface OverlayTexts {
  language: string;
  consent: string;
  accept: string;
  decline: string;
}
const TEXTS: readonly OverlayTexts[] = [
  {
    language: 'en',
    consent: 'We use cookies and similar technologies to improve your experience.',
    accept: 'Accept all',
    decline: 'Reject',
  },
  {
    language: 'de',
    consent: 'Wir verwenden Cookies und benötigen Ihre Einwilligung.',
    accept: 'Alle akzeptieren',
    decline: 'Ablehnen',
  },
  {
    language: 'fr',
    consent: 'Nous utilisons des cookies pour améliorer votre visite.',
    accept: 'Tout accepter',
    decline: 'Refuser',
  },
  {
    language: 'es',
    consent: 'Utilizamos cookies propias y de terceros.',
    accept: 'Aceptar',
    decline: 'Rechazar',
  },
  {
    language: 'it',
    consent: 'Questo sito utilizza cookie tecnici e, con il tuo consenso, cookies di profilazione.',
    accept: 'Accetta',
    decline: 'Rifiuta',
  },
  {
    language: 'nl',
    consent: 'Wij gebruiken cookies om deze site te verbeteren.',
    accept: 'Accepteren',
    decline: 'Weigeren',
  },
];

type Shape = (texts: OverlayTexts) => OverlayPage;
const SHAPES: readonly Shape[] = [
  ({ language, consent, accept, decline }) => ({
    name: `modal with a backdrop, ${language}`,
    html: document(
      'n',
      'body{overflow:hidden}.veil{position:fixed;inset:0;background:rgba(0,0,0,.6);z-index:999}.box{position:fixed;top:30%;left:30%;width:40%;background:#fff;padding:20px;z-index:1000}',
      `${article()}<div class="veil"></div><div class="box" id="box" role="dialog" aria-modal="true"><p>${consent}</p><button>${accept}</button><button>${decline}</button></div>`,
    ),
    gone: ['.veil', '#box'],
  }),
  ({ language, consent, accept }) => ({
    name: `bar at the bottom, ${language}`,
    html: document(
      'n',
      '.x1{position:fixed;bottom:0;left:0;right:0;background:#222;color:#fff;padding:15px}',
      `${article()}<div class="x1">${consent} <a href="#">${accept}</a></div>`,
    ),
    gone: ['.x1'],
  }),
  ({ language, consent, accept, decline }) => ({
    name: `full-screen wall, ${language}`,
    html: document(
      'n',
      'html{overflow:hidden}.wall{position:fixed;inset:0;background:#fff;z-index:2147483647;display:flex;align-items:center;justify-content:center}',
      `${article()}<div class="wall"><section><h2>Privacy</h2><p>${consent}</p><button>${accept}</button><button>${decline}</button></section></div>`,
    ),
    gone: ['.wall'],
  }),
  ({ language, consent, accept, decline }) => ({
    name: `card in the corner, in a shadow root, ${language}`,
    html: document(
      'n',
      '',
      `${article()}<consent-card id="host"></consent-card><script>document.getElementById('host').attachShadow({mode:'open'}).innerHTML='<style>div{position:fixed;right:20px;bottom:20px;width:320px;background:#fff;border:1px solid}</style><div id="card"><p>${consent}</p><button>${accept}</button><button>${decline}</button></div>'</script>`,
    ),
    gone: ['#host >>> #card'],
  }),
];

const single = (
  name: string,
  style: string,
  overlay: string,
  gone: readonly string[],
  bodyAttributes = '',
): OverlayPage => ({
  name,
  html: document(
    'n',
    style,
    `${article()}${overlay}${bodyAttributes === '' ? '' : `<script>document.body.setAttribute('style','${bodyAttributes}')</script>`}`,
  ),
  gone,
});
const FIXED_BOX =
  'position:fixed;top:25%;left:50%;margin-left:-250px;width:500px;background:#fff;z-index:1000;padding:20px';
const BACKDROP = 'position:fixed;inset:0;background:rgba(0,0,0,.5);z-index:999';
const FOOT = 'position:fixed;bottom:0;left:0;width:100%;background:#fffbe6;padding:12px;z-index:1000';

/** Pages with the markup of well-known consent management platforms. */
const KNOWN: readonly OverlayPage[] = [
  single(
    'OneTrust banner',
    `#onetrust-banner-sdk{${FOOT}}`,
    '<div id="onetrust-consent-sdk"><div class="onetrust-pc-dark-filter ot-hide"></div><div id="onetrust-banner-sdk" class="otFlat bottom ot-wo-title" role="region" aria-label="Cookie banner"><div id="onetrust-policy-text">By clicking “Accept All Cookies”, you agree to the storing of cookies on your device.</div><button id="onetrust-pc-btn-handler">Cookies Settings</button><button id="onetrust-reject-all-handler">Reject All</button><button id="onetrust-accept-btn-handler">Accept All Cookies</button></div></div>',
    ['#onetrust-banner-sdk'],
  ),
  single(
    'Cookiebot dialog',
    `#CybotCookiebotDialog{${FIXED_BOX}}#CybotCookiebotDialogBodyUnderlay{${BACKDROP}}`,
    '<div id="CybotCookiebotDialogBodyUnderlay"></div><div id="CybotCookiebotDialog" name="CybotCookiebotDialog" role="dialog" tabindex="-1"><p>This website uses cookies to personalise content and ads.</p><button id="CybotCookiebotDialogBodyButtonDecline">Deny</button><button id="CybotCookiebotDialogBodyLevelButtonLevelOptinAllowAll">Allow all</button></div>',
    ['#CybotCookiebotDialog', '#CybotCookiebotDialogBodyUnderlay'],
  ),
  single(
    'Didomi notice',
    `#didomi-popup{${BACKDROP}}#didomi-notice{${FIXED_BOX}}`,
    '<div id="didomi-host"><div id="didomi-popup" class="didomi-popup-backdrop didomi-notice-popup"><div id="didomi-notice" class="didomi-popup-container"><p>With your agreement, we and our partners use cookies to store personal data.</p><button id="didomi-notice-disagree-button">Disagree and close</button><button id="didomi-notice-agree-button">Agree and close</button></div></div></div>',
    ['#didomi-popup', '#didomi-notice'],
    'overflow:hidden',
  ),
  single(
    'Quantcast',
    `.qc-cmp2-container{${BACKDROP}}#qc-cmp2-ui{${FIXED_BOX}}`,
    '<div class="qc-cmp2-container"><div class="qc-cmp2-main"><div id="qc-cmp2-ui" role="dialog"><p>We value your privacy. We and our partners store cookies.</p><button mode="secondary">DISAGREE</button><button mode="primary">AGREE</button></div></div></div>',
    ['#qc-cmp2-ui', '.qc-cmp2-container'],
  ),
  single(
    'TrustArc',
    `#truste-consent-track{${FOOT}}`,
    '<div id="truste-consent-track"><div id="truste-consent-content"><p>This site uses cookies.</p><button id="truste-consent-required">Required only</button><button id="truste-consent-button">Accept all</button></div></div>',
    ['#truste-consent-track'],
  ),
  single(
    'Complianz',
    `#cmplz-cookiebanner-container div{${FIXED_BOX}}`,
    '<div id="cmplz-cookiebanner-container"><div class="cmplz-cookiebanner cmplz-show" role="dialog" aria-modal="true"><span>Manage cookie consent</span><button class="cmplz-btn cmplz-accept">Accept</button><button class="cmplz-btn cmplz-deny">Deny</button></div></div>',
    ['.cmplz-cookiebanner'],
  ),
  single(
    'CookieYes',
    `.cky-consent-container{${FOOT}}`,
    '<div class="cky-overlay cky-hide"></div><div class="cky-consent-container cky-banner-bottom" role="region"><p>We value your privacy. We use cookies.</p><button class="cky-btn cky-btn-reject">Reject All</button><button class="cky-btn cky-btn-accept">Accept All</button></div>',
    ['.cky-consent-container'],
  ),
  single(
    'Osano',
    `.osano-cm-window__dialog{${FOOT}}`,
    '<div class="osano-cm-window"><div class="osano-cm-dialog osano-cm-window__dialog" role="dialog" aria-label="Cookie Consent Banner"><span>This website stores cookies.</span><button class="osano-cm-denyAll">Reject all</button><button class="osano-cm-accept-all">Accept all</button></div></div>',
    ['.osano-cm-window__dialog'],
  ),
  single(
    'Klaro',
    `.klaro .cookie-notice{position:fixed;right:20px;bottom:20px;width:400px;background:#333;color:#fff;padding:10px}`,
    '<div class="klaro"><div class="cookie-notice" role="dialog"><p>Hi! Could we please enable some additional services? Cookies help us.</p><button class="cm-btn cn-decline">I decline</button><button class="cm-btn cm-btn-success">That is ok</button></div></div>',
    ['.cookie-notice'],
  ),
  single(
    'cookieconsent by Osano (v3)',
    `.cc-window{${FOOT}}`,
    '<div role="dialog" aria-label="cookieconsent" class="cc-window cc-banner"><span>This website uses cookies to ensure you get the best experience.</span><a class="cc-btn cc-dismiss">Got it!</a></div>',
    ['.cc-window'],
  ),
];

const PROMOTIONS: readonly OverlayPage[] = [
  single(
    'newsletter modal',
    `.nl{${FIXED_BOX}}.nlb{${BACKDROP}}`,
    '<div class="nlb"></div><div class="nl"><button aria-label="Close">×</button><h2>Join our newsletter</h2><input type="email"><button>Subscribe</button></div>',
    ['.nl', '.nlb'],
    'overflow:hidden',
  ),
  single(
    'modal within its backdrop',
    `.modal-overlay{${BACKDROP}}.modal-content{background:#fff;margin:10% auto;width:50%}`,
    '<div class="modal-overlay"><div class="modal-content"><span class="close">&times;</span><h3>Get 10% off your first order</h3><input name="email"><button>Claim discount</button></div></div>',
    ['.modal-overlay'],
  ),
  single(
    'dialog element',
    'dialog{width:400px}',
    '<dialog id="d"><h2>Before you go</h2><p>Special offer, ends today.</p><button>No thanks</button></dialog><script>document.getElementById("d").showModal()</script>',
    ['#d'],
  ),
  single(
    'popover',
    '',
    '<div popover id="p"><p>Turn on notifications?</p><button>Not now</button></div><script>document.getElementById("p").showPopover()</script>',
    ['#p'],
  ),
  single(
    'sticky promotion at the bottom',
    '.promo-bar{position:sticky;bottom:0;background:gold;padding:20px}',
    '<div class="promo-bar">Free shipping this week only <button class="close">✕</button></div>',
    ['.promo-bar'],
  ),
  single(
    'app banner',
    '.smart-app-banner{position:fixed;top:0;left:0;right:0;height:80px;background:#eee}',
    '<div class="smart-app-banner">Read it in the app <a href="#">Install</a> <button aria-label="Dismiss">×</button></div>',
    ['.smart-app-banner'],
  ),
  single(
    'paywall',
    '.fade{position:fixed;bottom:0;left:0;right:0;height:60%;background:#fff;border-top:4px solid}',
    '<div class="fade paywall"><h2>You have 0 remaining articles</h2><p>Become a member to read on.</p><button>Subscribe</button><button>Not now</button></div>',
    ['.fade'],
    'overflow:hidden;height:100vh',
  ),
  single(
    'ad blocker notice',
    `.abn{${FIXED_BOX}}.abb{${BACKDROP}}`,
    '<div class="abb"></div><div class="abn" role="alertdialog" aria-modal="true"><h2>Please disable your ad blocker</h2><button>Continue</button></div>',
    ['.abn', '.abb'],
  ),
  single(
    'chat window',
    '.chat-widget{position:fixed;right:20px;bottom:20px;width:350px;height:500px;background:#fff;border:1px solid}',
    '<div class="chat-widget"><button aria-label="Close chat">×</button><p>Hi! Need help? Chat with us.</p><textarea></textarea></div>',
    ['.chat-widget'],
  ),
  single(
    'survey',
    `.s{${FIXED_BOX}}`,
    '<div class="s"><button aria-label="close">X</button><p>Take our survey?</p><button>Yes</button></div>',
    ['.s'],
  ),
  single(
    'sticky advertisement',
    '.sticky-ad{position:fixed;bottom:0;left:50%;margin-left:-364px;width:728px;height:90px;background:#ccc}',
    '<div class="sticky-ad adhesion"><button class="close-ad">×</button><a href="#">Advertisement</a></div>',
    ['.sticky-ad'],
  ),
  single(
    'region chooser',
    `.rc{${FIXED_BOX}}`,
    '<div class="rc modal" role="dialog" aria-modal="true"><h2>Choose your country</h2><button>Stay here</button><button>Go to Germany</button></div>',
    ['.rc'],
  ),
  single(
    'age gate',
    `.age{${BACKDROP};background:rgba(0,0,0,.9);color:#fff}`,
    '<div class="age modal"><h2>Are you over 18?</h2><button>Continue</button><button class="close">No</button></div>',
    ['.age'],
  ),
  single(
    'consent in an iframe',
    `#sp_message_container_1{position:fixed;inset:0;z-index:2147483647}iframe{width:100%;height:100%;border:0}`,
    '<div id="sp_message_container_1"><iframe id="sp_message_iframe_1" srcdoc="<p>We use cookies</p><button>Accept</button>"></iframe></div>',
    ['#sp_message_container_1'],
    'overflow:hidden',
  ),
  single(
    'blurred page',
    `.b{${FIXED_BOX}}#content{filter:blur(8px)}`,
    '<div class="b" role="dialog" aria-modal="true"><p>Sign up to continue reading.</p><input type="email"><button>Sign up</button></div>',
    ['.b'],
  ),
  single(
    'fixed body',
    `.f{${FIXED_BOX}}body{position:fixed;width:100%}`,
    '<div class="f modal"><p>Join our mailing list</p><input type="email"><button class="close">×</button></div>',
    ['.f'],
  ),
];

export const OVERLAY_PAGES: readonly OverlayPage[] = [
  ...SHAPES.flatMap((shape) => TEXTS.map(shape)),
  ...KNOWN,
  ...PROMOTIONS,
];

const clean = (name: string, style: string, body: string): CleanPage => ({
  name,
  html: document(name, style, body),
});
const LINKS = ['Home', 'Products', 'Subscribe', 'Sign up', 'Cookies', 'Privacy', 'Support us']
  .map((text) => `<a href="#">${text}</a>`)
  .join(' ');

/** Page layouts with fixed or sticky elements; `inner` is the content of the page. */
const LAYOUTS: readonly [name: string, style: string, wrap: (inner: string) => string][] = [
  ['plain', '', (inner) => inner],
  [
    'fixed header',
    'header{position:fixed;top:0;left:0;right:0;height:60px;background:#fff}',
    (inner) => `<header>${LINKS} <button>Accept</button></header>${inner}`,
  ],
  [
    'tall sticky header',
    '.head{position:sticky;top:0;height:220px;background:#eef}',
    (inner) =>
      `<div class="head"><h2>Daily</h2><nav>${LINKS}</nav><form role="search"><input type="search"><button>Go</button></form></div>${inner}`,
  ],
  [
    'fixed side bar',
    '.side{position:fixed;left:0;top:0;bottom:0;width:260px;background:#f4f4f4;overflow:auto}main{margin-left:300px}',
    (inner) => `<div class="side"><nav>${LINKS}</nav></div>${inner}`,
  ],
  [
    'sticky contents',
    '.toc{position:sticky;top:20px;float:right;width:200px}',
    (inner) =>
      `<aside class="toc"><b>On this page</b><a href="#">Cookies and consent</a> <button>Close</button></aside>${inner}`,
  ],
  [
    'application shell',
    '.app{position:fixed;inset:0;display:flex;overflow:hidden}.pane{overflow:auto;flex:1}body{overflow:hidden}',
    (inner) => `<div class="app"><nav>${LINKS}</nav><div class="pane">${inner}</div></div>`,
  ],
  [
    'fixed footer menu',
    '.tabs{position:fixed;bottom:0;left:0;right:0;height:56px;background:#fff}',
    (inner) => `${inner}<nav class="tabs">${LINKS}</nav>`,
  ],
  [
    'floating button',
    '.fab{position:fixed;right:24px;bottom:24px;width:56px;height:56px;border-radius:28px}',
    (inner) => `${inner}<button class="fab">Edit</button>`,
  ],
  [
    'absolute hero',
    '.hero{position:absolute;top:0;left:0;right:0;height:60vh;z-index:10;background:#123;color:#fff}main{margin-top:70vh}',
    (inner) => `<div class="hero"><h1>Sign up for more</h1><button>Get started</button></div>${inner}`,
  ],
  [
    'player at the bottom',
    '.player{position:fixed;bottom:0;left:0;right:0;height:90px;background:#000;color:#fff}',
    (inner) =>
      `${inner}<div class="player" role="region" aria-label="Player"><button>Play</button> Song title <button>Next</button></div>`,
  ],
];
const SUBJECTS: readonly [name: string, inner: string][] = [
  ['article', article()],
  [
    'about cookies',
    `<main><h1>Cookie policy</h1><p>We use cookies. You can accept or reject them in your settings.</p><button>Accept</button>${article(3)}</main>`,
  ],
  [
    'newsletter archive',
    `<main><h1>Our newsletter</h1><p>Subscribe to our newsletter below.</p><form><input type="email"><button>Subscribe</button></form>${article(2)}</main>`,
  ],
  [
    'table',
    `<main><table><thead style="position:sticky;top:0;background:#fff"><tr><th>Name</th><th>Discount</th></tr></thead>${Array.from({ length: 60 }, (_, i) => `<tr><td>Row ${i}</td><td>${i} % off</td></tr>`).join('')}</table></main>`,
  ],
  [
    'cards',
    `<main>${Array.from({ length: 12 }, (_, i) => `<section class="modal-card popup promo" style="border:1px solid"><h3>Offer ${i}</h3><p>${LOREM}</p><button class="close">Dismiss</button></section>`).join('')}</main>`,
  ],
];

export const CLEAN_PAGES: readonly CleanPage[] = [
  ...LAYOUTS.flatMap(([layout, style, wrap]) =>
    SUBJECTS.map(([subject, inner]) => clean(`${subject}, ${layout}`, style, wrap(inner))),
  ),
  clean(
    'sign-in page',
    '.c{position:fixed;inset:0;display:flex;align-items:center;justify-content:center}',
    '<div class="c modal"><form role="dialog" aria-modal="true"><h1>Sign in</h1><input type="email"><button>Sign in</button> <a href="#">Privacy</a> <button class="close">×</button></form></div>',
  ),
];
