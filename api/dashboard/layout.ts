import { postForm } from './components/form.ts';
import { typed } from './components/text.ts';
import { type Html, html } from './html.ts';
import type { Viewer } from './viewer.ts';

/** The pages of the menu, in order. */
const MENU = [
  { path: '/dashboard', name: 'Overview' },
  { path: '/dashboard/tools', name: 'Tools' },
  { path: '/dashboard/calls', name: 'Calls' },
  { path: '/dashboard/ledger', name: 'Ledger' },
  { path: '/dashboard/keys', name: 'Keys' },
  { path: '/dashboard/webhooks', name: 'Webhooks' },
  { path: '/dashboard/events', name: 'Events' },
  { path: '/dashboard/credits', name: 'Credits' },
  { path: '/dashboard/settings', name: 'Settings' },
] as const;
const OPERATOR = { path: '/dashboard/operator', name: 'Operator' } as const;

export type Section = (typeof MENU)[number]['name'] | typeof OPERATOR.name;

interface Page {
  title: string;
  main: Html;
  /** The signed-in user and the current section; omitted on public pages. */
  menu?: { viewer: Viewer; section: Section };
}

const MAIN = 'main';

function menuOf({ viewer, section }: NonNullable<Page['menu']>): Html {
  const entries = viewer.user.role === 'operator' ? [...MENU, OPERATOR] : MENU;
  const links = entries.map(
    ({ path, name }) =>
      html`<li><a href="${path}"${name === section ? html` aria-current="page"` : null}>${name}</a></li>
`,
  );
  return html`<nav class="menu" aria-label="Dashboard">
<ul>
${links}<li><a href="/docs">API reference</a></li>
</ul>
</nav>`;
}

/** Renders a complete HTML document around the content of a page. */
export const layout = ({ title, main, menu }: Page): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – Utility Tools</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/dashboard/style.css">
<script src="/dashboard/times.js" defer></script>
</head>
<body>
<a class="skip" href="#${MAIN}">Skip to the content</a>
<header><a class="name" href="/dashboard">Utility Tools</a>${
    menu === undefined
      ? null
      : html`<div class="who"><span>${typed(menu.viewer.user.email)}</span> ${postForm({
          action: '/dashboard/sign-out',
          viewer: menu.viewer,
          kind: 'inline',
          content: html`<button class="plain">Sign out</button>`,
        })}</div>`
  }</header>
<div class="page">
${menu === undefined ? null : menuOf(menu)}
<main id="${MAIN}" tabindex="-1">
<h1>${title}</h1>
${main}
</main>
</div>
${menu === undefined ? null : html`<footer><p id="zone">Times are in UTC.</p></footer>`}
</body>
</html>
`.markup;
