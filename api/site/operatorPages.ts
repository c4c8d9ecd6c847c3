import type { OperatorText } from '../../schemas/envValues.ts';
import { mailto, type Operator } from '../operator.ts';
import { renderMarkdown } from './markdown.ts';
import type { Page } from './page.ts';

/** A page of the operator, before it is rendered. */
interface Source {
  path: string;
  title: string;
  summary: string;
  /** Markdown without the title. */
  text: string;
}

const NOBODY = `**This installation has no operator named.** Whoever runs it has given neither a name nor an address, so there is nobody
to write to on this page. Do not buy credits here, and send no confidential data, unless you know who runs it.`;

const FOR_OPERATORS =
  'If you run this installation: [Operations](/docs/operations#name-the-operator) says how to fill this page.';

/** Escapes characters that are syntax of Markdown or HTML. */
const escapeText = (text: string): string => text.replaceAll(/[\\`*_{}[\]()#+.!|<>&~-]/g, '\\$&');

const mailLink = (email: string): string => `[${escapeText(email)}](${mailto(email)})`;

function contact(operator: Operator | null): Source {
  const page = {
    path: '/contact',
    title: 'Contact',
    summary: 'Who runs this service, and how to reach them.',
  };
  if (operator === null)
    return {
      ...page,
      text: `${NOBODY}

What you can find out without an operator:

- Why a call failed: its page in the [dashboard](/dashboard/calls), and the [error codes](/docs/errors).
- Whether the service works at the moment: its [status](/status).
- How your balance came about: the [ledger](/dashboard/ledger), which you can recompute.

${FOR_OPERATORS}`,
    };
  const { name, email, address, securityEmail } = operator;
  return {
    ...page,
    text: `This service is run by **${escapeText(name)}**.

- Questions and problems: ${mailLink(email)}
- Reports of security problems: ${mailLink(securityEmail)}
${address === null ? '' : `- Postal address: ${escapeText(address)}\n`}
## Before you write

- A call failed: its page in the [dashboard](/dashboard/calls) and the [error codes](/docs/errors) say why, and what to do.
- Nothing works: look at the [status](/status) of the service first.
- Name the request id of the call, which is in the header \`X-Request-Id\` and in the dashboard. Never send a key or a password.`,
  };
}

/** The text of the operator, or a sentence that says that there is none. */
function published(operator: Operator, text: OperatorText | null, what: string): string {
  const name = escapeText(operator.name);
  if (text === null)
    return `This service is run by **${name}**, who has published no ${what} here. [Contact](/contact) says how to ask for it.`;
  if ('url' in text)
    return `This service is run by **${name}**. The ${what}: [${escapeText(text.url)}](<${text.url}>)`;
  return text.markdown.replace(/^# .*\n+/, '');
}

function terms(operator: Operator | null): Source {
  const own =
    operator === null
      ? `${NOBODY} For the same reason there are no terms of service: nobody is named with whom you could agree on them.`
      : published(operator, operator.terms, 'terms of service');
  return {
    path: '/terms',
    title: 'Terms of service',
    summary: 'The terms on which the operator offers this service.',
    text: `${own}

## What the software does

These rules are part of the program, whoever runs it:

- [What is charged](/docs/billing#what-is-charged): only calls that return a result.
- [What the parts guarantee](/docs/contract): charging, refunds, limits and time-outs.
- [How the interface can change](/docs/versioning): no incompatible change without notice.
${operator === null ? `\n${FOR_OPERATORS}\n` : ''}`,
  };
}

function privacy(operator: Operator | null): Source {
  const own =
    operator === null
      ? `${NOBODY} For the same reason there is no privacy policy: nobody is named who answers for your data.`
      : published(operator, operator.privacy, 'privacy policy');
  return {
    path: '/privacy',
    title: 'Privacy',
    summary: 'What this service stores about you, for how long, and who answers for it.',
    text: `${own}

## What the software stores

| Data | How long |
| --- | --- |
| Passwords and other secret fields that you give to a tool | Only in memory, while the call runs |
| Other inputs and outputs of calls, encrypted | Hours to days; [Security](/docs/security#what-is-stored) has each case |
| Tool, price, times and state of a call that was charged | Permanently, because the ledger refers to it |
| The same of a call that failed, and its error code | 7 days |
| Requests that were refused: their number by key, tool and error code, and the names of wrong fields; no input | 7 days |
| Your email address and your sessions | Until you [close your account](/docs/account#closing-an-account) |
| Purchases, the ledger and events of your account | Permanently |
| Billing details that you enter | Until you [close your account](/docs/account#closing-an-account); copies on invoices permanently |
| Addresses from which you signed in or changed a setting | One year |
| The address from which a key was last used | As long as the key |

Only the dashboard sets cookies: for your session, and for what you have chosen in it. No page loads anything from other
websites. In the [settings](/dashboard/settings) you can download all data of your account.
${operator === null ? `\n${FOR_OPERATORS}\n` : ''}`,
  };
}

/** The pages about the operator; without one, they say that none is named. */
export function operatorPages(operator: Operator | null): Page[] {
  return [contact(operator), terms(operator), privacy(operator)].map(({ text, ...page }) => {
    const { body, headings } = renderMarkdown(text, () => null);
    return { ...page, markdown: `# ${page.title}\n\n${text.trim()}\n`, body, headings };
  });
}
