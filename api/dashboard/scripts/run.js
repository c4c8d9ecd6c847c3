// Shows that a tool runs, and for how long.
for (const form of document.querySelectorAll('form.run')) {
  const button = form.querySelector('[data-run]');
  const label = button.querySelector('span');
  const text = label.textContent;
  const progress = form.querySelector('.progress');
  let timer;

  form.addEventListener('submit', () => {
    const start = Date.now();
    const show = () => {
      label.textContent = `Running… ${Math.round((Date.now() - start) / 1000)} s`;
    };
    progress.textContent = 'The tool is running.';
    show();
    timer = setInterval(show, 1000);
    // A button that is disabled at once would not be submitted by some browsers.
    setTimeout(() => {
      button.disabled = true;
    });
  });

  // The browser shows a kept page again when the user goes back.
  window.addEventListener('pageshow', ({ persisted }) => {
    if (!persisted) return;
    clearInterval(timer);
    button.disabled = false;
    label.textContent = text;
    progress.textContent = '';
  });
}
