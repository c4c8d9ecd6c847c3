import { type Html, html } from '../../html.ts';

interface Secret {
  title: Html | string;
  value: string;
  /** What to do with it. */
  advice: Html;
}

/** What is shown this once: marked with a click, wherever it is. */
export const secret = ({
  title,
  value,
  advice,
}: Secret): Html => html`<section class="notice" aria-labelledby="secret">
<h2 id="secret">${title}</h2>
<p><code class="secret">${value}</code></p>
${advice}
</section>`;
