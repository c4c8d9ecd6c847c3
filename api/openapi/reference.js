/* global SwaggerUIBundle */
const reference = document.getElementById('reference');

// Swagger UI nests the link of an operation inside the button that opens it, which keyboards and screen readers cannot
// tell apart. The button suffices, because opening an operation also changes the address.
const onlyButtons = ({ React }) => ({
  wrapComponents: {
    DeepLink: (Original) => (props) =>
      props.path.includes('/')
        ? React.createElement('span', null, props.text)
        : React.createElement(Original, props),
  },
});

// Accessible names of the select elements.
const SELECTS = [
  ['#servers', 'Server'],
  ['.examples-select-element', 'Example'],
];
const nameSelects = () => {
  for (const [selector, name] of SELECTS)
    for (const select of reference.querySelectorAll(`${selector}:not([aria-label])`))
      select.setAttribute('aria-label', name);
};
new MutationObserver(nameSelects).observe(reference, { childList: true, subtree: true });

SwaggerUIBundle({
  url: '../openapi.json',
  dom_id: '#reference',
  plugins: [onlyButtons],
  deepLinking: true,
  docExpansion: 'list',
  filter: true,
  displayRequestDuration: true,
  // The contrast of numbers in the default theme is too low.
  syntaxHighlight: { theme: 'obsidian' },
  // Hides the list of schemas; the operations show them.
  defaultModelsExpandDepth: -1,
  // The default would send the document to a validator on the Internet.
  validatorUrl: null,
});
