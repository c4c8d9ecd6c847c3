import { creditsOf } from '../../schemas/callErrors.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import { groupTools, summaryOf } from '../../schemas/toolGroups.ts';
import { price, unitPrice } from '../dashboard/components/price.ts';
import { callSnippets } from '../dashboard/components/snippets.ts';
import { type Html, html } from '../dashboard/frame/html.ts';
import { trialForm } from '../trial/trialForm.ts';
import { trialNote } from '../trial/trialPage.ts';
import { trialsOf } from '../trial/trials.ts';
import type { Installation } from './guides.ts';
import { codeBlock } from './highlight.ts';
import { plainLayout, SITE_NAME } from './layout.ts';
import { anchorOf } from './markdown.ts';
import { resultImage } from './pictures.ts';
import { outputOf } from './toolPage.ts';

/** The tool of the first example. */
const FIRST = 'hash-text';
/** Number of output fields that a card shows, and of characters of each. */
const SHOWN_FIELDS = 4;
const SHOWN_CHARACTERS = 44;

const cut = (text: string): string =>
  text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS - 1)}…` : text;

/** The first fields of the example's result. */
function outputExcerpt({ examples, output }: ToolDefinition): Html {
  const isShown = ([name, value]: [string, unknown]) =>
    !['null', '""', '[]', '{}'].includes(JSON.stringify(value)) &&
    output.properties[name]?.contentEncoding === undefined &&
    name !== 'fileBase64';
  const fields = Object.entries(examples[0]?.output ?? {}).filter(isShown);
  return html`<dl class="output">
${fields.slice(0, SHOWN_FIELDS).map(
  ([
    name,
    value,
  ]) => html`<div><dt>${name}</dt><dd>${cut(typeof value === 'string' ? value : JSON.stringify(value))}</dd></div>
`,
)}</dl>`;
}

function card(tool: ToolDefinition): Html {
  return html`<li>
<h4><a href="/docs/tools/${tool.name}">${tool.title}</a> <span class="tag">${creditsOf(tool.price)}</span></h4>
<p>${summaryOf(tool)}</p>
${resultImage(tool) ?? outputExcerpt(tool)}
</li>
`;
}

const PROMISES = [
  {
    title: 'You pay only for results',
    text: 'Each tool has a fixed price in credits. A call that fails costs nothing.',
    href: '/docs/billing',
  },
  {
    title: 'Safe to repeat',
    text: 'A call that you repeat with the same Idempotency-Key runs once and is charged once, even if a process crashes in between.',
    href: '/docs/idempotency',
  },
  {
    title: 'One format for all errors',
    text: 'Every error is problem+json with a stable code, and a page that says what to do.',
    href: '/docs/errors',
  },
  {
    title: 'For agents too',
    text: 'The same tools through MCP, and every page of the documentation as Markdown.',
    href: '/docs/agents',
  },
];

function trials({ registry, hasTrials }: Installation): Html | null {
  if (!hasTrials) return null;
  return html`<section id="try"><h2>Try it</h2>
<div class="trials">
${trialsOf(registry).map(
  (trial) => html`<div>
<h3><a href="/docs/tools/${trial.tool.name}">${trial.tool.title}</a></h3>
${trialForm(trial)}</div>
`,
)}</div>
${trialNote}
</section>
`;
}

function pricing({ packs, freeCredits }: Installation): Html {
  const number = new Intl.NumberFormat('en');
  return html`<section id="pricing"><h2>Pricing</h2>
<p>Credits are bought in advance. A new account starts with ${freeCredits} free credits.
<a href="/docs/billing">Prices of all tools</a></p>
${
  packs.length === 0
    ? null
    : html`<ul class="packs">
${packs.map(
  (pack) => html`<li><strong>${number.format(pack.credits)}</strong> credits
<span class="amount">${price(pack.amount, pack.currency)}</span> <small>${unitPrice(pack.amount, pack.credits, pack.currency)} per credit</small></li>
`,
)}</ul>`
}</section>`;
}

export function landingPage(installation: Installation): string {
  const { registry, baseUrl, hasTrials } = installation;
  const first = registry.get(FIRST);
  const [example] = first?.examples ?? [];
  const curl =
    first &&
    example &&
    callSnippets({ tool: first, input: example.input, baseUrl }).find(({ title }) => title === 'curl')?.text;
  const description = `${registry.size} single-purpose tools behind one HTTP API: screenshots, QR codes, PDF conversion, DNS, certificates, hashes. Prepaid; you pay only for results.`;
  const main = html`<section class="hero">
<div>
<h1>${registry.size} tools behind one HTTP API</h1>
<p class="lead">Take a screenshot, convert a Word document, look up a DNS record, check a certificate. POST a JSON object, get a
JSON object back, and pay only for results.</p>
<p class="actions"><a class="button primary" href="/dashboard/sign-up">Create an API key</a> ${hasTrials ? html`<a class="button" href="#try">Try it</a> ` : null}<a class="button" href="/docs/quickstart">Quickstart</a></p>
</div>
<div>
${codeBlock(curl ?? '', 'sh', 'Request')}${codeBlock(outputOf(example?.output ?? {}), 'json', 'Response')}</div>
</section>
<ul class="promises">
${PROMISES.map(
  ({ title, text, href }) => html`<li><h2><a href="${href}">${title}</a></h2><p>${text}</p></li>
`,
)}</ul>
${trials(installation)}<section><h2>Tools</h2>
${groupTools([...registry.values()]).map(
  ({ title, tools }) => html`<h3 id="${anchorOf(title)}">${title}</h3>
<ul class="tools">
${tools.map(card)}</ul>
`,
)}</section>
${pricing(installation)}`;
  return plainLayout(
    { path: '/', title: `${SITE_NAME}: ${registry.size} tools behind one API`, description, baseUrl },
    main,
    'landing',
  );
}
