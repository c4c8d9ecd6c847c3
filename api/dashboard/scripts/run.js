// Shows that a tool runs, for how long, and cancels it: the disconnect makes the service cancel and refund the call.
for (const form of document.querySelectorAll('form.run')) {
  const button = form.querySelector('[data-run]');
  const label = button.querySelector('span');
  const text = label.textContent;
  const progress = form.querySelector('.progress');
  const cancel = document.createElement('button');
  cancel.type = 'button';
  cancel.className = 'plain';
  cancel.textContent = 'Cancel';
  cancel.hidden = true;
  button.after(cancel);
  let timer;

  const reset = (message) => {
    clearInterval(timer);
    button.disabled = false;
    label.textContent = text;
    cancel.hidden = true;
    progress.textContent = message;
  };

  form.addEventListener('submit', () => {
    const start = Date.now();
    const show = () => {
      label.textContent = `Running… ${Math.round((Date.now() - start) / 1000)} s`;
    };
    progress.textContent = 'The tool is running.';
    cancel.hidden = false;
    show();
    timer = setInterval(show, 1000);
    // A button that is disabled at once would not be submitted by some browsers.
    setTimeout(() => {
      button.disabled = true;
    });
  });

  cancel.addEventListener('click', () => {
    window.stop();
    // The next run is another call, not a repetition of the cancelled one.
    const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
    const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
    form.elements['.attempt'].value = hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    reset('Cancelled. A call that had not ended is refunded; the calls page shows it.');
    button.focus();
  });

  // The browser shows a kept page again when the user goes back.
  window.addEventListener('pageshow', ({ persisted }) => {
    if (persisted) reset('');
  });
}
