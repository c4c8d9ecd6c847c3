import { ERRORS, type ErrorCode } from '../../schemas/errors.ts';
import { type Html, html } from '../dashboard/frame/html.ts';
import { CODES } from '../openapi/problems.ts';
import { REMEDIES } from '../openapi/remedies.ts';

const SORTED: readonly ErrorCode[] = [...CODES].sort((a, b) => ERRORS[a].status - ERRORS[b].status);

const row = (code: ErrorCode): Html => {
  const { status, title, detail } = ERRORS[code];
  return html`<tr id="${code}">
<td class="status">${status}</td>
<td><a href="#${code}"><code>${code}</code></a><span class="title">${title}</span></td>
<td><p>${detail}</p><p class="remedy">${REMEDIES[code]}</p></td>
</tr>
`;
};

/** The table to which the `type` of every problem links: one row per code, with the code as its id. */
export const errorTable = (): Html => html`<table class="errors">
<thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">Meaning and remedy</th></tr></thead>
<tbody>
${SORTED.map(row)}
</tbody>
</table>`;

const line = (code: ErrorCode): string => {
  const { status, detail } = ERRORS[code];
  return `- \`${code}\` (${status}): ${detail} ${REMEDIES[code]}`;
};

export const errorList = (codes: readonly ErrorCode[] = SORTED): string => codes.map(line).join('\n');
