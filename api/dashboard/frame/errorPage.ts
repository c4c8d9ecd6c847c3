import { type Failure, reasons } from '../components/alert.ts';
import { copyable } from '../components/text.ts';
import { html } from './html.ts';
import { layout } from './layout.ts';

interface Failed {
  title: string;
  failure: Failure;
  requestId: string;
}

export const errorPage = ({ title, failure, requestId }: Failed): string =>
  layout({
    title,
    main: html`${reasons(failure)}
<p class="request">Request ${copyable(requestId)}</p>
<p><a href="/dashboard">Back to the dashboard</a></p>`,
  });
