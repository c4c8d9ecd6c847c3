import highlighter from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import typescript from 'highlight.js/lib/languages/typescript';
import yaml from 'highlight.js/lib/languages/yaml';
import { type Html, html, ownMarkup } from '../dashboard/frame/html.ts';

/** Languages by the word after the fence of a code block. */
const LANGUAGES = {
  sh: { title: 'Shell', grammar: bash },
  js: { title: 'Node.js', grammar: javascript },
  ts: { title: 'TypeScript', grammar: typescript },
  json: { title: 'JSON', grammar: json },
  python: { title: 'Python', grammar: python },
  go: { title: 'Go', grammar: go },
  php: { title: 'PHP', grammar: php },
  toml: { title: 'TOML', grammar: ini },
  yaml: { title: 'YAML', grammar: yaml },
} as const;

type Language = keyof typeof LANGUAGES;
const isLanguage = (name: string): name is Language => Object.hasOwn(LANGUAGES, name);

for (const [name, { grammar }] of Object.entries(LANGUAGES)) highlighter.registerLanguage(name, grammar);

/** A block of code. The script copy.js adds a button that copies it. @param title default: the name of the language */
export function codeBlock(code: string, language: string, title?: string): Html {
  const known = isLanguage(language);
  const shown = title ?? (known ? LANGUAGES[language].title : 'Text');
  const body = known ? ownMarkup(highlighter.highlight(code, { language }).value) : html`${code}`;
  return html`<figure class="code">
<figcaption>${shown}</figcaption>
<pre tabindex="0" role="group" aria-label="${shown}"><code>${body}</code></pre>
</figure>
`;
}
