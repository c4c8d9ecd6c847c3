// Shows that a tool is running, and for how many seconds.
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
    // Some browsers cancel the submission if its handler disables the button synchronously.
    setTimeout(() => {
      button.disabled = true;
    });
  });

  // When the user goes back, the browser may restore the page from its cache with the button still disabled.
  window.addEventListener('pageshow', ({ persisted }) => {
    if (!persisted) return;
    clearInterval(timer);
    button.disabled = false;
    label.textContent = text;
    progress.textContent = '';
  });
}
