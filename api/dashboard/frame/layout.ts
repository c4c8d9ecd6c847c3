import { postForm } from '../components/form.ts';
import { type Icon, icon } from '../components/icons.ts';
import { number, typed } from '../components/text.ts';
import { broadcastBar } from './broadcast.ts';
import { type Html, html } from './html.ts';
import type { Viewer } from './viewer.ts';

interface Entry {
  path: string;
  name: string;
  icon: Icon;
}

/** The pages of the menu, in groups. */
const MENU = [
  { title: null, entries: [{ path: '/dashboard', name: 'Overview', icon: 'overview' }] },
  {
    title: 'Use',
    entries: [
      { path: '/dashboard/tools', name: 'Tools', icon: 'tools' },
      { path: '/dashboard/calls', name: 'Calls', icon: 'calls' },
      { path: '/dashboard/batches', name: 'Batches', icon: 'batches' },
      { path: '/dashboard/jobs', name: 'Jobs', icon: 'jobs' },
      { path: '/dashboard/schedules', name: 'Schedules', icon: 'schedules' },
    ],
  },
  {
    title: 'Integrate',
    entries: [
      { path: '/dashboard/keys', name: 'Keys', icon: 'keys' },
      { path: '/dashboard/clients', name: 'Connected apps', icon: 'link' },
      { path: '/dashboard/webhooks', name: 'Webhooks', icon: 'webhooks' },
      { path: '/dashboard/events', name: 'Events', icon: 'events' },
    ],
  },
  {
    title: 'Billing',
    entries: [
      { path: '/dashboard/credits', name: 'Credits', icon: 'credits' },
      { path: '/dashboard/ledger', name: 'Ledger', icon: 'ledger' },
    ],
  },
  { title: 'Account', entries: [{ path: '/dashboard/settings', name: 'Settings', icon: 'settings' }] },
] as const satisfies readonly { title: string | null; entries: readonly Entry[] }[];
const OPERATOR = { path: '/dashboard/operator', name: 'Operator', icon: 'operator' } as const;
const REFERENCE: Entry = { path: '/docs', name: 'Documentation', icon: 'book' };

export type Section = (typeof MENU)[number]['entries'][number]['name'] | typeof OPERATOR.name;

/** A link to the page above the current one. */
export interface Parent {
  path: string;
  name: string;
}

interface Page {
  title: string;
  main: Html;
  /** The signed-in user and the current section; omitted on public pages. */
  menu?: { viewer: Viewer; section: Section };
  parent?: Parent;
  /** Controls beside the title. */
  actions?: Html;
}

const MAIN = 'main';
const MENU_ID = 'menu';

/** Opens the menu on narrow screens, also without JavaScript. */
const menuButton = html`<button class="open plain" type="button" popovertarget="${MENU_ID}">${icon('menu')}<span class="unseen">Menu</span></button>`;

const entryLink = ({ path, name, icon: shape }: Entry, isCurrent: boolean): Html =>
  html`<li><a href="${path}"${isCurrent ? html` aria-current="page"` : null}>${icon(shape)}${name}</a></li>
`;

function menuOf({ viewer, section }: NonNullable<Page['menu']>): Html {
  const groups = MENU.map(
    ({ title, entries }) => html`<li>${title === null ? null : html`<p>${title}</p>`}
<ul>
${entries.map((entry) => entryLink(entry, entry.name === section))}</ul></li>
`,
  );
  const more = viewer.user.role === 'operator' ? entryLink(OPERATOR, section === OPERATOR.name) : null;
  return html`<nav class="menu" id="${MENU_ID}" popover aria-label="Dashboard">
<ul>
${groups}<li><ul>
${more}${entryLink(REFERENCE, false)}</ul></li>
</ul>
</nav>`;
}

function userOf({ viewer }: NonNullable<Page['menu']>): Html {
  const available = viewer.account.balance - viewer.account.reserved;
  return html`<div class="who"><a class="pill" href="/dashboard/credits">${icon('credits')}${number(available)}<span class="unseen"> credits available</span></a> <span class="email">${typed(viewer.user.email)}</span> ${postForm(
    {
      action: '/dashboard/sign-out',
      viewer,
      kind: 'inline',
      content: html`<button class="plain">Sign out</button>`,
    },
  )}</div>`;
}

/** Tells an operator why the operator pages are missing. */
const needsTwoFactor = html`<p class="alert">You are an operator. <a href="/dashboard/settings/two-factor">Set up two-factor authentication</a> to use the operator pages.</p>
`;

const logo = html`<svg class="logo" viewBox="0 0 32 32" aria-hidden="true" focusable="false"><rect width="32" height="32" rx="7"/><path d="M8 9v8.5a5 5 0 0 0 10 0V9"/><circle cx="23.5" cy="21.5" r="2.6"/></svg>`;

/** Renders a complete HTML document around the content of a page. */
export const layout = ({ title, main, menu, parent, actions }: Page): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – Utility Tools</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/dashboard/style.css">
<script src="/dashboard/dashboard.js" defer></script>
</head>
<body>
<a class="skip" href="#${MAIN}">Skip to the content</a>
<header>${menu === undefined ? null : menuButton}<a class="name" href="/dashboard">${logo}Utility Tools</a>${menu === undefined ? null : userOf(menu)}</header>
${menu === undefined ? null : broadcastBar(menu.viewer)}<div class="page">
${menu === undefined ? null : menuOf(menu)}
<main id="${MAIN}" tabindex="-1">
${parent === undefined ? null : html`<p class="parent"><a href="${parent.path}">${parent.name}</a></p>`}
<div class="title"><h1>${title}</h1>${actions ?? null}</div>
${menu?.viewer.needsTwoFactor ? needsTwoFactor : null}${main}
</main>
</div>
<footer>${menu === undefined ? null : html`<p id="zone">Times are in UTC.</p>`}<p class="about"><a href="/status">Status of the service</a> <a href="/contact">Contact</a> <a href="/terms">Terms</a> <a href="/privacy">Privacy</a></p></footer>
</body>
</html>
`.markup;
