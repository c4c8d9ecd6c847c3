/* global SwaggerUIBundle */
SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  filter: true,
  displayRequestDuration: true,
  // The schemas stand with the calls that use them.
  defaultModelsExpandDepth: -1,
  // The default would send the document to a validator on the Internet.
  validatorUrl: null,
});
