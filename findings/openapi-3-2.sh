#!/usr/bin/env bash
# openapi-typescript 7.13.0 and @hey-api/openapi-ts 0.99.0 (Node.js): a description in OpenAPI 3.2, which is of September 2025, with an
# operation of the method `query`, one of the method COPY in `additionalOperations`, and events with an `itemSchema`.
# Expected: types for all operations and for the events, or an error that names the version.
# Seen: both end with success and without a warning. The operations `query` and COPY are missing, and the events are `unknown`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund openapi-typescript@7.13.0 @hey-api/openapi-ts@0.99.0 typescript@5.9.3 node@24.21.0
cat > api.yaml <<'YAML'
openapi: 3.2.0
info: { title: Items, version: '1' }
paths:
  /items:
    get:
      operationId: listItems
      responses: { '200': { description: Items } }
    query:
      operationId: searchItems
      requestBody: { content: { application/json: { schema: { type: object } } } }
      responses: { '200': { description: Items } }
    additionalOperations:
      COPY:
        operationId: copyItems
        responses: { '204': { description: Copied } }
  /events:
    get:
      operationId: streamEvents
      responses: { '200': { description: Events, content: { text/event-stream: { itemSchema: { $ref: '#/components/schemas/Event' } } } } }
components:
  schemas:
    Event: { type: object, properties: { data: { type: string } } }
YAML
node_modules/.bin/node node_modules/openapi-typescript/bin/cli.js api.yaml -o openapi-typescript.ts
node_modules/.bin/node node_modules/.bin/openapi-ts -i api.yaml -o hey
cat hey/*.gen.ts > hey.ts
operations() { grep -o 'listItems\|searchItems\|copyItems\|streamEvents' "$1" | sort -u | xargs; }
output=$(operations openapi-typescript.ts; operations hey.ts; grep event-stream openapi-typescript.ts; grep -A 4 'type StreamEventsResponses' hey.ts)
echo "$output"
[ "$(grep -cx 'listItems streamEvents' <<<"$output")" = 2 ]
grep -q '"text/event-stream": unknown;' <<<"$output"
grep -q '200: unknown;' <<<"$output"
echo 'as described'
