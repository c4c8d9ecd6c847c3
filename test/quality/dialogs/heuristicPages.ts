import { LANGUAGES } from '../../browser/overlayLanguages.ts';
import { article } from '../../browser/overlayPages.ts';
import type { Random } from '../../helpers/random.ts';

/** A page with an overlay that no rule describes. */
interface HeuristicPage {
  name: string;
  url: string;
  documents: ReadonlyMap<string, string>;
}

type Text = string | readonly string[];
/** The text of an overlay in HTML, made of one wording each. */
type Content = (random: Random) => string;

const one = (random: Random, text: Text): string => (typeof text === 'string' ? text : random.pick(text));
const buttons = (...labels: string[]): string => labels.map((label) => `<button>${label}</button>`).join(' ');
const CLOSERS = [
  '<button aria-label="Close">×</button>',
  '<span style="float:right;cursor:pointer">✕</span>',
  '<button class="modal-close"><svg width="12" height="12"></svg></button>',
  '<a href="#" title="Close">✖</a>',
];

const consent: Content = (random) => {
  const { consent: text, accept, decline } = random.pick(Object.values(LANGUAGES));
  const policy = random.pick([
    '',
    ' <a href="#">Privacy policy</a>',
    ' <a href="#">Imprint</a> <a href="#">Cookies</a>',
  ]);
  const controls = random.pick([
    buttons(accept),
    buttons(accept, decline),
    buttons(decline, accept),
    `<a href="#">${accept}</a> <a href="#">${decline}</a>`,
    `<div role="button" tabindex="0">${accept}</div>`,
    `<input type="submit" value="${accept}">`,
  ]);
  const title = random.pick(['', '<h2>Cookies</h2>', '<strong>🍪</strong>']);
  return `${title}<p>${text}${policy}</p>${controls}`;
};
const choices: Content = (random) => {
  const { consent: text, accept, decline } = random.pick(Object.values(LANGUAGES));
  const boxes = ['Necessary', 'Statistics', 'Marketing']
    .map((name) => `<label><input type="checkbox">${name}</label>`)
    .join(' ');
  return `<p>${text}</p>${boxes}<p>${buttons(decline, accept)}</p>`;
};
const partners: Content = (random) =>
  `<h2>${one(random, ['We value your privacy', 'Your privacy matters', 'Before you continue'])}</h2><p>We and our ${random.integer(20, 900)} partners store and access information on a device, such as unique identifiers in cookies, to process personal data. You may accept or manage your choices at any time. These choices will be signaled to our partners and will not affect browsing data.</p>${buttons('More options', one(random, ['Accept', 'Agree and close', 'I agree', 'Accept & continue']))}`;
const newsletter: Content = (random) => {
  const { newsletter: text, address, subscribe } = random.pick(Object.values(LANGUAGES));
  return `${random.pick(CLOSERS)}<h2>${text}</h2><input placeholder="${address}">${buttons(subscribe)}`;
};
const discount: Content = (random) =>
  `${random.pick(CLOSERS)}<h2>${one(random, ['Get 10% off your first order', 'Unlock 15% off', 'Spin to win a discount', '10 % Rabatt auf deine erste Bestellung', '-10 % sur votre première commande', '10 % de descuento en tu primer pedido'])}</h2><input type="email" placeholder="E-mail">${buttons(one(random, ['Claim', 'Continue', 'Jetzt sichern', 'J’en profite', 'Quiero mi descuento']))}`;
const app: Content = (random) =>
  `${random.pick(CLOSERS)}<p>${one(random, ['Read this story in the app. It is faster.', 'Get the app for the best experience.', 'Our app is free. Install it now.'])}</p>${buttons('Open', 'Not now')}`;
const survey: Content = (random) =>
  `${random.pick(CLOSERS)}<p>${one(random, ['Do you have two minutes for a short survey?', 'Help us improve: give us your feedback.', 'Haben Sie kurz Zeit für eine Umfrage?', 'Répondez à notre sondage'])}</p>${buttons('Yes', 'No thanks')}`;
const notification: Content = (random) =>
  `<p>${one(random, ['Turn on notifications so that you never miss a story.', 'Allow notifications from this site?', 'Möchten Sie Mitteilungen erhalten?', 'Activer les notifications ?'])}</p>${buttons(one(random, ['Allow', 'Yes please']), one(random, ['Not now', 'Maybe later', 'No thanks']))}`;
const region: Content = (random) =>
  `${random.pick(CLOSERS)}<h2>${one(random, ['Choose your country', 'It looks as if you are in another region', 'Select your region'])}</h2>${buttons('Stay here', 'Germany', 'France')}`;
const blocker: Content = (random) =>
  `${random.pick(CLOSERS)}<h2>${one(random, ['Please disable your ad blocker', 'We noticed that you use an ad blocker', 'Bitte schalten Sie Ihren Werbeblocker aus'])}</h2><p>Advertisements pay for what you read here.</p>${buttons('Continue')}`;
const member: Content = (random) =>
  `${random.pick(CLOSERS)}<h2>${one(random, ['You have 2 remaining articles', 'Become a member to read on', 'Support us with a small donation'])}</h2><p>Thousands of readers already do.</p>${buttons(one(random, ['Join', 'Subscribe', 'Donate']), 'Not now')}`;
const chat: Content = (random) =>
  `${random.pick(CLOSERS)}<p>${one(random, ['Hi! Need help? Chat with us.', 'Need help choosing? Chat with us now.'])}</p>${buttons('Start')}`;
const event: Content = (random) =>
  `${random.pick(CLOSERS)}<h2>${one(random, ['Win a trip to the islands', 'The summer sale ends on Sunday', 'Join us at the harbour festival'])}</h2><p>Three days by the sea, with music.</p><a href="#">Read more</a>`;

const CONTENTS: readonly [name: string, content: Content, places: readonly Place[]][] = [
  ['consent', consent, ['bar', 'box', 'corner', 'wall', 'top']],
  ['consent', consent, ['bar', 'box', 'corner', 'wall', 'top']],
  ['consent', consent, ['bar', 'box', 'corner', 'wall', 'top']],
  ['choices', choices, ['box', 'corner', 'bar']],
  ['partners', partners, ['box', 'bar', 'wall']],
  ['newsletter', newsletter, ['box', 'corner', 'bar']],
  ['discount', discount, ['box', 'corner', 'bar']],
  ['app', app, ['bar', 'top', 'box']],
  ['survey', survey, ['box', 'corner']],
  ['notifications', notification, ['box']],
  ['region', region, ['box']],
  ['ad blocker', blocker, ['box', 'wall']],
  ['membership', member, ['box', 'bar']],
  ['chat', chat, ['corner']],
  ['event', event, ['box']],
];

type Place = 'bar' | 'top' | 'box' | 'corner' | 'wall';
const PLACES: Readonly<Record<Place, string>> = {
  bar: 'left:0;right:0;bottom:0;padding:16px',
  top: 'left:0;right:0;top:0;padding:16px',
  box: 'left:30%;top:30%;width:40%;padding:24px',
  corner: 'right:24px;bottom:24px;width:340px;padding:16px',
  wall: 'inset:0;padding:15% 25%',
};

/** An overlay in a shadow root, which a script makes, so that it can tell whether the overlay is visible. */
const ROOT =
  '<x-card></x-card><script>{const root=document.querySelector("x-card").attachShadow({mode:"MODE"});root.innerHTML=`<style>.b{STYLE}</style><div class="b">@</div>`;window.madeTops=[root.lastChild]}</script>';

/** Ways to build the overlay; `@` is its content. */
const BUILDS: readonly [name: string, html: string][] = [
  ['plain', '<div class="b" made-top>@</div>'],
  [
    'wrapped',
    '<div class="css-1x9k2"><div><div class="b" made-top><div><section>@</section></div></div></div></div>',
  ],
  ['labelled', '<div class="b" role="dialog" aria-modal="true" made-top>@</div>'],
  ['open root', ROOT.replace('MODE', 'open')],
  ['closed root', ROOT.replace('MODE', 'closed')],
  ['frame', '<iframe class="b" made-top srcdoc="@"></iframe>'],
  ['foreign frame', '<iframe class="b" made-top src="https://boxes.example/one"></iframe>'],
  [
    'dialog',
    '<dialog class="b" made-top>@</dialog><script>document.querySelector("dialog").showModal()</script>',
  ],
  [
    'late',
    '<script>{const b=document.createElement("div");b.className="b";b.innerHTML=`@`;b.setAttribute("made-top","");document.body.append(b)}</script>',
  ],
];
/** Ways in which scripts reach nothing, which only consent dialogs are found in. */
const ONLY_CONSENT = new Set(['frame', 'foreign frame']);
const PROMPTS = new Set(['consent', 'choices', 'partners']);

const SCRIPT = `<script>window.madeTops=[...(window.madeTops??[]),...document.querySelectorAll('[made-top]')];for(const e of madeTops)e.removeAttribute('made-top')</script>`;
const URL_OF_FRAME = 'https://boxes.example/one';

/** Makes a page with an overlay. @param index number of the page, which selects the kind of overlay */
export function makeHeuristicPage(index: number, random: Random): HeuristicPage {
  const [kind, content, places] = CONTENTS[index % CONTENTS.length] ?? ['consent', consent, ['bar']];
  const place = random.pick(places);
  const builds = BUILDS.filter(([name]) => PROMPTS.has(kind) || !ONLY_CONSENT.has(name));
  const [build, html] = random.pick(builds);
  const isFrame = ONLY_CONSENT.has(build);
  const text = content(random);
  const size = isFrame ? ';border:0;box-sizing:border-box;min-height:160px;padding:0' : '';
  const inset = isFrame && place === 'wall' ? ';width:100%;height:100%' : '';
  const wide = isFrame && (place === 'bar' || place === 'top') ? ';width:100%' : '';
  const boxStyle = `position:fixed;z-index:9000;background:#fff;color:#111;margin:0;${PLACES[place]}${size}${inset}${wide}`;
  const hasBackdrop = place === 'box' && build !== 'dialog';
  const veil = hasBackdrop ? '<div class="v" made-top></div>' : '';
  const style = `body{font:16px/1.5 sans-serif;margin:0}main{max-width:760px;margin:80px auto}.b{${boxStyle}}.v{position:fixed;inset:0;background:rgba(0,0,0,.5);z-index:8999}`;
  const own = build === 'frame' ? text.replace(/"/g, '&quot;') : text;
  const overlay = html.replace('STYLE', boxStyle).replace('@', () => own);
  const url = 'https://harbour.example/';
  return {
    name: `${index + 1}, ${kind}, ${place}, ${build}`,
    url,
    documents: new Map([
      [
        url,
        `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Ferry</title><style>${style}</style></head><body>${article()}${veil}${overlay}${SCRIPT}</body></html>`,
      ],
      [URL_OF_FRAME, `<!doctype html><html><head><meta charset="utf-8"></head><body>${text}</body></html>`],
    ]),
  };
}
