import { type Html, html } from '../frame/html.ts';

interface Secret {
  title: Html | string;
  value: string;
  /** Instructions. */
  advice: Html;
}

/** A secret that is shown once; a click selects it. */
export const secret = ({
  title,
  value,
  advice,
}: Secret): Html => html`<section class="notice" aria-labelledby="secret">
<h2 id="secret">${title}</h2>
<p><code class="secret" data-copy>${value}</code></p>
${advice}
</section>`;
