// Shows the result of a trial call below its form instead of on a page of its own.
for (const form of document.querySelectorAll('form[action^="/try/"]')) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const ending = form.parentElement.querySelector('.ending');
    const button = form.querySelector('button');
    button.disabled = true;
    try {
      const response = await fetch(form.action, {
        method: 'POST',
        body: new URLSearchParams(new FormData(form)),
        signal: AbortSignal.timeout(110_000),
      });
      const page = new DOMParser().parseFromString(await response.text(), 'text/html');
      ending.replaceChildren(...page.querySelector('.ending').childNodes);
      ending.dispatchEvent(new Event('added', { bubbles: true }));
    } catch {
      ending.textContent = 'The call failed. Check your connection, then try again.';
    } finally {
      button.disabled = false;
    }
  });
}
