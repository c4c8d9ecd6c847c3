import { creditsOf } from '../../schemas/callErrors.ts';
import type { Pack } from '../../schemas/formats/packs.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import { groupTools, summaryOf } from '../../schemas/toolGroups.ts';
import { moneyOf } from '../billing/prices.ts';
import { type Html, html } from '../dashboard/frame/html.ts';
import { trialForm } from '../trial/trialForm.ts';
import { trialNote } from '../trial/trialPage.ts';
import { trialsOf } from '../trial/trials.ts';
import { cardResult } from './cardResult.ts';
import type { Installation } from './guides.ts';
import { codeBlock } from './highlight.ts';
import { plainLayout, SITE_NAME } from './layout.ts';
import { anchorOf } from './markdown.ts';
import { PRICING_PATH } from './paths.ts';
import { cardImage, heroImage, showsResult } from './pictures.ts';
import { packList } from './pricingPage.ts';

/** The tool of the first example. */
const FIRST = 'website-screenshot';

function card(tool: ToolDefinition, packs: readonly Pack[]): Html {
  const money = moneyOf(tool.price, packs);
  return html`<li>
<h4><a href="/docs/tools/${tool.name}">${tool.title}</a> <span class="tag">${creditsOf(tool.price)}</span>${money === null ? null : html` <span class="money">${money}</span>`}</h4>
<p>${summaryOf(tool)}</p>
${cardImage(tool)}${showsResult(tool) ? null : cardResult(tool)}
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

function pricing(installation: Installation): Html {
  return html`<section id="pricing"><h2>Pricing</h2>
<p>Credits are bought in advance. A new account starts with ${installation.freeCredits} free credits.
<a href="${PRICING_PATH}">Prices of all tools, and a calculator</a></p>
${packList(installation)}</section>`;
}

/** A call that takes a picture of a page and saves it. */
const firstCall = (baseUrl: string): string => `curl ${baseUrl}/api/v1/tools/${FIRST} \\
  -H "Authorization: Bearer $UTILITY_TOOLS_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -H 'Accept: image/png' \\
  -d '{"url": "https://bakery.example.com"}' \\
  -o page.png`;

export function landingPage(installation: Installation): string {
  const { registry, baseUrl, hasTrials } = installation;
  const description = `${registry.size} single-purpose tools behind one HTTP API: screenshots, QR codes, PDF conversion, DNS, certificates, hashes. Prepaid; you pay only for results.`;
  const main = html`<section class="hero">
<div>
<h1>${registry.size} tools behind one HTTP API</h1>
<p class="lead">Take a screenshot, convert a Word document, look up a DNS record, check a certificate. POST a JSON object, get a
JSON object back, and pay only for results.</p>
<p class="actions"><a class="button primary" href="/dashboard/sign-up">Create an API key</a> ${hasTrials ? html`<a class="button" href="#try">Try it</a> ` : null}<a class="button" href="/docs/quickstart">Quickstart</a></p>
</div>
<div>
${registry.has(FIRST) ? html`${codeBlock(firstCall(baseUrl), 'sh', 'A web page as a picture')}${heroImage({ name: FIRST })}` : null}</div>
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
${tools.map((tool) => card(tool, installation.packs))}</ul>
`,
)}</section>
${pricing(installation)}`;
  return plainLayout(
    { path: '/', title: `${SITE_NAME}: ${registry.size} tools behind one API`, description, baseUrl },
    main,
    'landing',
  );
}
