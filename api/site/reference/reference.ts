import { OPERATIONS } from '../../../schemas/operations.ts';
import { openApiDocument } from '../../openapi/openapi.ts';
import type { Installation } from '../guides.ts';
import type { Section } from '../page.ts';
import { operationGroups, webhookEvents } from './document.ts';
import { eventsPage } from './eventsPage.ts';
import { operationPage } from './operationPage.ts';
import { referencePage } from './overviewPage.ts';

/** Operations whose pages are those of the tools. */
const TOOLS = 'Tools';

/** The pages of the reference, which derive from the OpenAPI document, by its tags. */
export function referenceSections({ registry, baseUrl }: Installation): Section[] {
  const document = openApiDocument({ registry, operations: OPERATIONS, serverUrl: baseUrl });
  const groups = operationGroups(document);
  return [
    { title: 'Reference', pages: [referencePage(groups, registry, baseUrl)] },
    ...groups
      .filter(({ tag }) => tag !== TOOLS)
      .map(({ tag, operations }) => ({
        title: tag,
        pages: operations.map((operation) => operationPage(operation, baseUrl)),
      })),
    { title: 'Webhooks', pages: [eventsPage(webhookEvents(document))] },
  ];
}
