// Sends a request with the key of the visitor. The key is only in the field: it is neither stored nor part of the form's data.
const SHOWN_CHARACTERS = 100;
const LIMIT_MS = 110_000;

const shorten = (_key, value) =>
  typeof value === 'string' && value.length > SHOWN_CHARACTERS ? `${value.slice(0, 48)}…` : value;

const element = (name, properties) => Object.assign(document.createElement(name), properties);

/** The file of a result: an image, and a link that saves it. */
const fileOf = ({ fileBase64, imageBase64 = fileBase64, mimeType, fileName = 'result' }) => {
  if (typeof imageBase64 !== 'string' || typeof mimeType !== 'string') return [];
  const href = `data:${mimeType};base64,${imageBase64}`;
  const save = element('p', {});
  save.append(element('a', { href, download: fileName, textContent: 'Save the file' }));
  return mimeType.startsWith('image/') ? [element('img', { src: href, alt: 'The result' }), save] : [save];
};

const resultOf = (response, text) => {
  const charged = response.headers.get('X-Credits-Charged');
  const left = response.headers.get('X-Credits-Remaining');
  const credits =
    charged === null ? '' : ` Credits charged: ${charged}${left === null ? '' : `, left: ${left}`}.`;
  const status = element('p', { textContent: `Status ${response.status}.${credits}` });
  if (text === '') return [status];
  const result = JSON.parse(text);
  const pre = element('pre', { tabIndex: 0 });
  pre.append(element('code', { textContent: JSON.stringify(result, shorten, 2) }));
  const figure = element('figure', { className: 'code' });
  figure.append(element('figcaption', { textContent: 'Response' }), pre);
  return [status, ...(response.ok ? fileOf(result) : []), figure];
};

/** The path of the form with its parameters. Empty ones are left out of the query. */
const pathOf = (form) => {
  let path = form.dataset.path;
  for (const { dataset, value } of form.querySelectorAll('[data-path]'))
    path = path.replace(`{${dataset.path}}`, encodeURIComponent(value.trim()));
  const query = new URLSearchParams();
  for (const { dataset, value } of form.querySelectorAll('[data-query]'))
    if (value.trim() !== '') query.set(dataset.query, value.trim());
  return query.size === 0 ? path : `${path}?${query}`;
};

const optionsOf = (form) => {
  const key = form.querySelector('#run-key')?.value.trim();
  const body = form.querySelector('#run-input')?.value;
  return {
    method: form.dataset.method,
    headers: {
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    body,
    credentials: 'omit',
    signal: AbortSignal.timeout(LIMIT_MS),
  };
};

for (const run of document.querySelectorAll('.run')) {
  const form = run.querySelector('form');
  const button = form.querySelector('button');
  const ending = run.querySelector('.ending');
  run.hidden = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    ending.textContent = 'Running…';
    try {
      const response = await fetch(pathOf(form), optionsOf(form));
      ending.replaceChildren(...resultOf(response, await response.text()));
      ending.dispatchEvent(new Event('added', { bubbles: true }));
    } catch {
      ending.textContent =
        'No response. Check your connection, and the call history before you run it again.';
    } finally {
      button.disabled = false;
    }
  });
}
