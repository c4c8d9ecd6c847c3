import { ERRORS, type ErrorCode } from '../../schemas/errors.ts';
import { type Html, html } from '../dashboard/frame/html.ts';
import { REMEDIES } from '../openapi/remedies.ts';
import { errorList } from './errorTable.ts';

/** The errors of a tool or of another operation. */
interface PageErrors {
  kind: 'tool' | 'operation';
  /** Errors that only this one, or few of its kind, can return. */
  own: readonly ErrorCode[];
  /** Errors that every one of its kind can return. */
  common: readonly ErrorCode[];
}

const noneOf = (kind: string): string => `The ${kind} has no specific errors.`;
const everyOf = (kind: string): string => `that every ${kind} can return:`;

const link = (code: ErrorCode): Html => html`<a href="/docs/errors#${code}"><code>${code}</code></a>`;

export const errorMarkup = ({ kind, own, common }: PageErrors): Html => html`${
  own.length === 0
    ? null
    : html`<ul class="fields">
${own.map(
  (code) => html`<li><p>${link(code)} <span class="type">${ERRORS[code].status}</span></p>
<p>${ERRORS[code].detail} ${REMEDIES[code]}</p></li>
`,
)}</ul>
`
}<p>${own.length === 0 ? noneOf(kind) : null} Errors ${everyOf(kind)} ${common.map((code, index) => html`${index === 0 ? null : ', '}${link(code)}`)}.</p>
`;

/** The errors in Markdown. */
export const errorMarkdown = ({ kind, own, common }: PageErrors): string =>
  `${own.length === 0 ? noneOf(kind) : errorList(own)}

[Errors](/docs/errors.md) ${everyOf(kind)} ${common.map((code) => `\`${code}\``).join(', ')}.`;
