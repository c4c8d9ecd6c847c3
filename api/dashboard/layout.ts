import { type Html, html } from '../html.ts';

interface Page {
  title: string;
  /** Beside the name at the top, such as the way out. */
  header?: Html;
  main: Html;
}

/** A whole document around what a page shows. */
export const layout = ({ title, header, main }: Page): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – Utility Tools</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/dashboard/style.css">
</head>
<body>
<header><a class="name" href="/dashboard">Utility Tools</a>${header ?? null}</header>
<main>
<h1>${title}</h1>
${main}
</main>
</body>
</html>
`.markup;
