/* global SwaggerUIBundle */
const reference = document.getElementById('reference');

// The path of an operation is a link within the button that opens it, which the keyboard and screen readers cannot tell
// apart. The button alone says where it leads too: opening an operation puts it into the address.
const onlyButtons = ({ React }) => ({
  wrapComponents: {
    DeepLink: (Original) => (props) =>
      props.path.includes('/')
        ? React.createElement('span', null, props.text)
        : React.createElement(Original, props),
  },
});

// What its lists to choose from are for.
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
  url: 'openapi.json',
  dom_id: '#reference',
  plugins: [onlyButtons],
  deepLinking: true,
  docExpansion: 'list',
  filter: true,
  displayRequestDuration: true,
  // Readable by everybody, as the default is not: its numbers are too faint.
  syntaxHighlight: { theme: 'obsidian' },
  // The schemas stand with the calls that use them.
  defaultModelsExpandDepth: -1,
  // The default would send the document to a validator on the Internet.
  validatorUrl: null,
});
