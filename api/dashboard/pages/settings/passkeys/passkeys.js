// Adds a passkey, or signs in with one. The forms stay hidden if the browser does not support passkeys.
const OPTIONS_MS = 20_000;
const UNREACHABLE = 'The server did not respond. Reload the page and try again.';
const REASONS = {
  NotAllowedError: 'The request was cancelled, or took too long. Try again.',
  InvalidStateError: 'This device already has a passkey for your account.',
  SecurityError: 'This page was opened at an address for which passkeys do not work.',
};

/** A message for the user. */
class Refusal extends Error {}

const fetchOptions = async (form) => {
  const response = await fetch(form.dataset.options, {
    method: 'POST',
    body: new URLSearchParams(new FormData(form)),
    signal: AbortSignal.timeout(OPTIONS_MS),
  }).catch(() => null);
  const { options, message } = (await response?.json().catch(() => null)) ?? { message: UNREACHABLE };
  if (options === undefined) throw new Refusal(message ?? UNREACHABLE);
  return options;
};

const ask = async (form) => {
  const options = await fetchOptions(form);
  if (form.dataset.passkey === 'create')
    return navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
    });
  return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
};

if (window.PublicKeyCredential?.parseRequestOptionsFromJSON !== undefined) {
  for (const replaced of document.querySelectorAll('[data-without-passkeys]')) replaced.hidden = true;
  for (const form of document.querySelectorAll('form[data-passkey]')) {
    const button = form.querySelector('button');
    const problem = form.querySelector('[role="alert"]');
    form.hidden = false;
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      button.disabled = true;
      problem.textContent = '';
      try {
        form.elements.credential.value = JSON.stringify(await ask(form));
        form.submit();
      } catch (error) {
        problem.textContent =
          error instanceof Refusal
            ? error.message
            : (REASONS[error.name] ?? 'The browser refused the passkey.');
      }
      button.disabled = false;
    });
  }
}
