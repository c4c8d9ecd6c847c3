import { type Html, html } from '../frame/html.ts';

/** Outlines in a square of 24 by 24 units, drawn for this project. */
const SHAPES = {
  overview: html`<path d="M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z"/>`,
  tools: html`<path d="M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM17 14v6M14 17h6"/>`,
  calls: html`<path d="M4 6h16M4 12h10M4 18h7M17 15l4 3-4 3z"/>`,
  batches: html`<path d="M4 8h12v12H4zM8 8V4h12v12h-4M7 12h6M7 16h6"/>`,
  jobs: html`<circle cx="12" cy="12" r="9"/><path d="M12 7v5l3 3"/>`,
  schedules: html`<path d="M4 6h16v14H4zM4 10h16M8 3v5M16 3v5M8 14h3M8 17h7"/>`,
  upload: html`<path d="M12 15V4M7 9l5-5 5 5M4 20h16"/>`,
  ledger: html`<path d="M5 3h14v18l-3-2-2 2-2-2-2 2-2-2-3 2zM9 8h6M9 12h6"/>`,
  keys: html`<circle cx="8" cy="15" r="4"/><path d="M11 12l9-9M16 7l3 3"/>`,
  webhooks: html`<circle cx="12" cy="6" r="3"/><circle cx="5" cy="18" r="3"/><circle cx="19" cy="18" r="3"/><path d="M10.5 8.6L6.5 15.4M13.5 8.6l4 6.8M8 18h8"/>`,
  events: html`<path d="M13 3L5 14h6l-1 7 8-11h-6z"/>`,
  credits: html`<circle cx="12" cy="12" r="9"/><path d="M15 9a3 2 0 0 0-3-1.5c-2 0-3 1-3 2.2 0 3 6 1.6 6 4.6 0 1.2-1 2.2-3 2.2a3 2 0 0 1-3-1.5M12 5.5v13"/>`,
  settings: html`<path d="M4 7h9M19 7h1M4 17h1M11 17h9"/><circle cx="16" cy="7" r="3"/><circle cx="8" cy="17" r="3"/>`,
  operator: html`<path d="M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6z"/><path d="M9 12l2 2 4-4"/>`,
  book: html`<path d="M12 6c-2-2-5-2-8-2v14c3 0 6 0 8 2 2-2 5-2 8-2V4c-3 0-6 0-8 2zM12 6v14"/>`,
  menu: html`<path d="M4 7h16M4 12h16M4 17h16"/>`,
  search: html`<circle cx="11" cy="11" r="7"/><path d="M16 16l5 5"/>`,
  check: html`<path d="M5 12l5 5L20 7"/>`,
  circle: html`<circle cx="12" cy="12" r="8"/>`,
  warning: html`<path d="M12 4L2.5 20h19zM12 10v4M12 17v.5"/>`,
  info: html`<circle cx="12" cy="12" r="9"/><path d="M12 11v6M12 7v.5"/>`,
  arrow: html`<path d="M5 12h14M13 6l6 6-6 6"/>`,
  download: html`<path d="M12 4v11M7 10l5 5 5-5M4 20h16"/>`,
  play: html`<path d="M7 4l12 8-12 8z"/>`,
  hash: html`<path d="M9 4L7 20M17 4l-2 16M4 9h16M4 15h16"/>`,
  lock: html`<path d="M5 11h14v9H5zM8 11V8a4 4 0 0 1 8 0v3M12 15v2"/>`,
  globe: html`<circle cx="12" cy="12" r="9"/><path d="M3 12h18M12 3c-3.5 4-3.5 14 0 18M12 3c3.5 4 3.5 14 0 18"/>`,
  link: html`<path d="M10 14l4-4M8 11l-3 3a3.5 3.5 0 0 0 5 5l3-3M16 13l3-3a3.5 3.5 0 0 0-5-5l-3 3"/>`,
  broken: html`<path d="M8 11l-3 3a3.5 3.5 0 0 0 5 5l3-3M16 13l3-3a3.5 3.5 0 0 0-5-5l-3 3M4 4l16 16"/>`,
  chart: html`<path d="M4 4v16h16M8 14l4-4 3 3 5-6"/>`,
  image: html`<path d="M4 5h16v14H4zM4 16l5-5 5 5 2-2 4 4"/><circle cx="15.5" cy="9" r="1.5"/>`,
  camera: html`<path d="M3 8h4l2-3h6l2 3h4v11H3z"/><circle cx="12" cy="13" r="3.5"/>`,
  expand: html`<path d="M14 4h6v6M20 4l-7 7M10 20H4v-6M4 20l7-7"/>`,
  stamp: html`<path d="M12 3c4 5 6 8 6 11a6 6 0 0 1-12 0c0-3 2-6 6-11z"/>`,
  send: html`<path d="M3 11l18-8-7 18-3-7zM11 14l4-4"/>`,
  file: html`<path d="M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6"/>`,
  pulse: html`<path d="M2 12h5l3-8 4 16 3-8h5"/>`,
  code: html`<path d="M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h2v2h-2zM18 18h2v2h-2zM18 14h2M14 20h2"/>`,
  tag: html`<path d="M3 4h8l10 10-7 7L3 11z"/><circle cx="7.5" cy="8" r="1.2"/>`,
  mail: html`<path d="M3 5h18v14H3zM3 6l9 7 9-7"/>`,
  shield: html`<path d="M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6z"/>`,
  text: html`<path d="M4 6h16M4 11h16M4 16h10"/>`,
} as const;
export type Icon = keyof typeof SHAPES;

/** An icon beside a text. It is hidden from screen readers. */
export const icon = (name: Icon): Html =>
  html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${SHAPES[name]}</svg>`;
