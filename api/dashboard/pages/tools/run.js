// Shows that a tool is running, for how many seconds and how far it is, and cancels its call on request.
const STEP_INTERVAL_MS = 1500;
const STEPS = {
  ledger: 'Reserving credits.',
  waiting: 'Waiting for a free worker.',
  tool: 'The tool is running.',
};

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
  let timers = [];
  let isCancelling = false;
  let isCancelled = false;
  let lastStep = null;

  const show = (message) => {
    // Set only when it changes, because screen readers announce each change.
    if (progress.textContent !== message) progress.textContent = message;
  };

  const follow = async () => {
    const response = await fetch(progress.dataset.runs).catch(() => null);
    const { run } = response?.ok ? await response.json() : { run: null };
    if (run === null) return;
    if (isCancelling) {
      if (isCancelled) return;
      const body = new URLSearchParams({ formToken: form.elements.formToken.value });
      const answer = await fetch(run.cancel, { method: 'POST', body }).catch(() => null);
      isCancelled = answer?.url.endsWith('cancel=sent') ?? false;
    } else if (run.step === 'ledger' && lastStep === 'tool') show('The tool has finished. Charging.');
    else if (run.step !== null) {
      lastStep = run.step;
      show(STEPS[run.step]);
    }
  };

  const reset = () => {
    for (const timer of timers) clearInterval(timer);
    timers = [];
    isCancelling = false;
    isCancelled = false;
    lastStep = null;
    button.disabled = false;
    label.textContent = text;
    cancel.hidden = true;
    cancel.disabled = false;
    show('');
  };

  form.addEventListener('submit', () => {
    const start = Date.now();
    const count = () => {
      label.textContent = `Running… ${Math.round((Date.now() - start) / 1000)} s`;
    };
    count();
    show('The call is being sent.');
    cancel.hidden = false;
    timers = [setInterval(count, 1000), setInterval(follow, STEP_INTERVAL_MS)];
    // Some browsers cancel the submission if its handler disables the button synchronously.
    setTimeout(() => {
      button.disabled = true;
    });
  });

  // The page with the result, or with the refund, follows as the response to the form.
  cancel.addEventListener('click', () => {
    isCancelling = true;
    cancel.disabled = true;
    show('Cancelling…');
    follow();
  });

  // When the user goes back, the browser may restore the page from its cache with the button still disabled.
  window.addEventListener('pageshow', ({ persisted }) => {
    if (persisted) reset();
  });
}
