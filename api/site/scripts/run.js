// Runs a tool with the key of the visitor. The key is only in the field: it is neither stored nor part of the form's data.
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

const resultOf = (response, result) => {
  const charged = response.headers.get('X-Credits-Charged') ?? '0';
  const left = response.headers.get('X-Credits-Remaining');
  const text = `Status ${response.status}. Credits charged: ${charged}${left === null ? '' : `, left: ${left}`}.`;
  const pre = element('pre', { tabIndex: 0 });
  pre.append(element('code', { textContent: JSON.stringify(result, shorten, 2) }));
  const figure = element('figure', { className: 'code' });
  figure.append(element('figcaption', { textContent: 'Response' }), pre);
  return [element('p', { textContent: text }), ...(response.ok ? fileOf(result) : []), figure];
};

for (const run of document.querySelectorAll('.run')) {
  const form = run.querySelector('form');
  const [key, input] = form.querySelectorAll('input, textarea');
  const button = form.querySelector('button');
  const ending = run.querySelector('.ending');
  run.hidden = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    ending.textContent = 'Running…';
    try {
      const response = await fetch(form.dataset.path, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key.value.trim()}`, 'Content-Type': 'application/json' },
        body: input.value,
        credentials: 'omit',
        signal: AbortSignal.timeout(LIMIT_MS),
      });
      ending.replaceChildren(...resultOf(response, await response.json()));
      ending.dispatchEvent(new Event('added', { bubbles: true }));
    } catch {
      ending.textContent =
        'No response. Check your connection, and the call history before you run it again.';
    } finally {
      button.disabled = false;
    }
  });
}
