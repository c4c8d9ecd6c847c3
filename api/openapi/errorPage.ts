import { ERRORS, type ErrorCode } from '../../schemas/errors.ts';
import { type Html, html } from '../dashboard/html.ts';
import { CODES } from './problems.ts';
import { REMEDIES } from './remedies.ts';

const row = (code: ErrorCode): Html => {
  const { status, title, detail } = ERRORS[code];
  return html`<tr id="${code}">
<td class="status">${status}</td>
<td><a href="#${code}"><code>${code}</code></a><span class="title">${title}</span></td>
<td><p>${detail}</p><p class="remedy">${REMEDIES[code]}</p></td>
</tr>`;
};

/** The page that the `type` of every problem links to: one row per code, with the code as its id. */
export function errorPage(): string {
  const codes = [...CODES].sort((a, b) => ERRORS[a].status - ERRORS[b].status);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Errors – Utility Tools API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="assets/page.css">
</head>
<body>
<nav><a href="../docs">Reference</a> <a href="errors" aria-current="page">Errors</a> <a href="../openapi.json">OpenAPI</a></nav>
<main>
<h1>Errors</h1>
<p>Every error is <code>application/problem+json</code> (<a href="https://www.rfc-editor.org/rfc/rfc9457">RFC 9457</a>).
Branch on <code>code</code>; its meaning is stable. <code>detail</code> describes this occurrence. Quote
<code>requestId</code>, which is also the header <code>X-Request-Id</code>, when you contact support.
A failed call is not charged.</p>
<table>
<thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">Meaning and remedy</th></tr></thead>
<tbody>
${codes.map(row)}
</tbody>
</table>
</main>
</body>
</html>
`.markup;
}
