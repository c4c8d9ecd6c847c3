import { html } from '../../dashboard/frame/html.ts';
import { fieldLines, fieldList, fieldsOf } from '../fields.ts';
import { codeBlock } from '../highlight.ts';
import { anchorOf, renderMarkdown } from '../markdown.ts';
import type { Page } from '../page.ts';
import type { WebhookEvent } from './document.ts';
import { REFERENCE_PATH } from './paths.ts';

export const EVENTS_PATH = `${REFERENCE_PATH}/events`;

const SUMMARY = 'The requests that webhook endpoints receive, with the fields of each kind of event.';

const INTRODUCTION = `Each event is a \`POST\` with a JSON object, signed in its headers. [Webhooks](/docs/webhooks) explains how to register an
endpoint, check the signature and answer.`;

const EVERY = 'Every event';

const json = (value: unknown): string => JSON.stringify(value, null, 2);

const isOfKind = ({ name }: { name: string }): boolean => name.startsWith('data.');

/** The fields that only this kind of event has. */
const ownFields = ({ schema }: WebhookEvent) => fieldsOf(schema).filter(isOfKind);

/** The fields of every event. Its kind is a constant of each schema, which is left out. */
const commonFields = ([first]: readonly WebhookEvent[]) =>
  (first === undefined ? [] : fieldsOf(first.schema))
    .filter((field) => !isOfKind(field))
    .map((field) => (field.name === 'event' ? { ...field, limits: [] } : field));

/** The page of the events that webhook endpoints receive. */
export const eventsPage = (events: readonly WebhookEvent[]): Page => ({
  path: EVENTS_PATH,
  title: 'Webhook events',
  summary: SUMMARY,
  markdown: `# Webhook events

${SUMMARY}

${INTRODUCTION}

## ${EVERY}

${fieldLines(commonFields(events), false)}

${events
  .map(
    (event) =>
      `## ${event.kind}\n\n${event.summary}\n\n\`\`\`json\n${json(event.example)}\n\`\`\`\n\n${fieldLines(ownFields(event), false)}`,
  )
  .join('\n\n')}
`,
  headings: [EVERY, ...events.map(({ kind }) => kind)].map((text) => ({ id: anchorOf(text), text })),
  body: html`<p class="lead">${SUMMARY}</p>
${renderMarkdown(INTRODUCTION, () => null).body}<h2 id="${anchorOf(EVERY)}"><a href="#${anchorOf(EVERY)}">${EVERY}</a></h2>
${fieldList(commonFields(events), 'event', false)}${events.map(
  (
    event,
  ) => html`<h2 id="${anchorOf(event.kind)}"><a href="#${anchorOf(event.kind)}"><code>${event.kind}</code></a></h2>
<p>${event.summary}</p>
${codeBlock(json(event.example), 'json', 'Body')}${fieldList(ownFields(event), anchorOf(event.kind), false)}`,
)}`,
});
