import { html } from '../../html.ts';
import { layout } from '../layout.ts';

interface Failed {
  title: string;
  detail: string;
  requestId: string;
}

/** What a browser shows when a page cannot be had. */
export const errorPage = ({ title, detail, requestId }: Failed): string =>
  layout({
    title,
    main: html`<p>${detail}</p>
<p class="request">Request <code>${requestId}</code></p>
<p><a href="/dashboard">Back to the dashboard</a></p>`,
  });
