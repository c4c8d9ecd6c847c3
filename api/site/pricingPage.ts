import type { Registry } from '../../schemas/registry.ts';
import { groupTools } from '../../schemas/toolGroups.ts';
import { moneyOf, type Purchase, packsFor, worthOf } from '../billing/prices.ts';
import { price, unitPrice } from '../dashboard/components/price.ts';
import { count } from '../dashboard/components/text.ts';
import { type Html, html } from '../dashboard/frame/html.ts';
import type { Installation } from './guides.ts';
import { plainLayout, SITE_NAME } from './layout.ts';
import type { Page } from './page.ts';
import { PRICING_PATH } from './paths.ts';

const DESCRIPTION =
  'What each tool costs in credits and in money, what a pack of credits buys, and what your calls of a month cost.';

/** Largest number of calls a month in the calculator. */
const MOST_CALLS = 10_000_000;

/** Calls a month by tool. */
type Plan = ReadonlyMap<string, number>;

/** Reads the calculator's form. Values that are not numbers of calls count as none. @param fieldOf returns a field's value */
export function planOf(registry: Registry, fieldOf: (name: string) => string): Plan {
  const calls = [...registry.keys()].map((name): [string, number] => [name, Number(fieldOf(name))]);
  return new Map(
    calls.filter(([, number]) => Number.isInteger(number) && number > 0 && number <= MOST_CALLS),
  );
}

const format = (number: number): string => new Intl.NumberFormat('en').format(number);

/** The packs on sale with what they buy. */
export const packList = ({ packs, registry }: Pick<Installation, 'packs' | 'registry'>): Html | null =>
  packs.length === 0
    ? null
    : html`<ul class="packs">
${packs.map(
  ({ credits, amount, currency }) => html`<li><strong>${format(credits)}</strong> credits
<span class="amount">${price(amount, currency)}</span> <small>${unitPrice(amount, credits, currency)} per credit</small>
<p class="worth">${worthOf(credits, registry)}</p></li>
`,
)}</ul>`;

const purchaseText = ({ packs, amount, credits }: Purchase): Html => {
  const [first] = packs;
  if (first === undefined) return html``;
  const list = packs.map(
    ({ pack, times }, index) =>
      html`${index === 0 ? null : ' and '}${format(times)} × ${format(pack.credits)} credits`,
  );
  return html` For example ${list}: <strong>${price(amount, first.pack.currency)} a month</strong>, for ${format(credits)} credits.`;
};

function result(plan: Plan, { registry, packs }: Installation): Html | null {
  if (plan.size === 0) return null;
  const credits = [...plan].reduce((sum, [name, calls]) => sum + calls * (registry.get(name)?.price ?? 0), 0);
  const calls = [...plan.values()].reduce((sum, number) => sum + number, 0);
  const purchase = packsFor(credits, packs);
  return html`<p class="overall" role="status">${count(calls, 'call')} a month cost <strong>${count(credits, 'credit')}</strong>.${
    purchase === null ? null : purchaseText(purchase)
  } Calls that fail cost nothing.</p>
`;
}

/** The prices in Markdown. */
export function pricingMarkdown({ registry, packs, freeCredits }: Installation): string {
  const rows = [...registry.values()].map(
    ({ name, title, price: credits }) =>
      `| [${title}](/docs/tools/${name}.md) | ${credits} |${packs.length === 0 ? '' : ` ${moneyOf(credits, packs)} |`}`,
  );
  const offers = packs.map(
    ({ credits, amount, currency }) =>
      `- ${format(credits)} credits for ${price(amount, currency)}: ${worthOf(credits, registry)}`,
  );
  return `# Pricing

${DESCRIPTION} A new account starts with ${format(freeCredits)} free credits.

${packs.length === 0 ? 'This installation sells no credits.' : offers.join('\n')}

| Tool | Credits |${packs.length === 0 ? '' : ' Price of a call |'}
| --- | --: |${packs.length === 0 ? '' : ' --: |'}
${rows.join('\n')}
`;
}

/** The pricing page as the search finds it. */
export const pricingEntry = (installation: Installation): Page => ({
  path: PRICING_PATH,
  title: 'Pricing',
  summary: DESCRIPTION,
  markdown: pricingMarkdown(installation),
  headings: [],
  body: html``,
});

/** The page with the prices in money, and a calculator by calls a month. */
export function pricingPage(installation: Installation, plan: Plan): string {
  const { registry, packs, freeCredits, baseUrl } = installation;
  const hasPacks = packs.length > 0;
  const row = (tool: {
    name: string;
    title: string;
    price: number;
  }) => html`<tr><th scope="row"><a href="/docs/tools/${tool.name}">${tool.title}</a></th>
<td>${format(tool.price)}</td>${hasPacks ? html`<td>${moneyOf(tool.price, packs)}</td><td class="bulk">${moneyOf(tool.price * 1000, packs)}</td>` : null}
<td><input name="${tool.name}" type="number" min="0" max="${MOST_CALLS}" value="${plan.get(tool.name) ?? ''}" placeholder="0" inputmode="numeric" aria-label="${tool.title}, calls a month"></td></tr>
`;
  const main = html`<h1>Pricing</h1>
<p class="lead">You buy credits in advance, and each call of a tool costs a fixed number of them. Only calls that return a result
are charged. A new account starts with ${format(freeCredits)} free credits${worthOf(freeCredits, registry) === '' ? null : `: ${worthOf(freeCredits, registry)}`}.</p>
${hasPacks ? packList(installation) : html`<p>This installation sells no credits.</p>`}
<h2 id="tools">What a call costs</h2>
<p>${hasPacks ? 'Prices in money are those of the smallest pack; in a larger pack a credit can cost less. ' : null}Enter how often you call each tool in a month to see what that
costs.</p>
<div id="sum">${result(plan, installation)}</div>
<form action="${PRICING_PATH}#sum" method="get">
<div class="wide" tabindex="0" role="group" aria-label="Prices by tool">
<table class="prices">
<thead><tr><th scope="col">Tool</th><th scope="col">Credits</th>${hasPacks ? html`<th scope="col">One call</th><th scope="col" class="bulk">1,000 calls</th>` : null}<th scope="col">Calls a month</th></tr></thead>
${groupTools([...registry.values()]).map(
  ({
    title,
    tools,
  }) => html`<tbody><tr class="group"><th colspan="${hasPacks ? 5 : 3}" scope="rowgroup">${title}</th></tr>
${tools.map(row)}</tbody>
`,
)}</table>
</div>
<p><button class="button primary">Calculate</button></p>
</form>
<p class="note"><a href="/docs/billing">Pricing and billing</a> says what is charged, and how to cap the price of a call.</p>`;
  return plainLayout(
    {
      path: PRICING_PATH,
      title: `Pricing – ${SITE_NAME}`,
      description: DESCRIPTION,
      markdown: `${PRICING_PATH}.md`,
      baseUrl,
    },
    main,
    'service',
  );
}
