// Reports when the first call with a new key has arrived.
const INTERVAL_MS = 2500;
const LONGEST_MS = 10 * 60_000;

const waiting = document.querySelector('[data-first-call]');
if (waiting !== null) {
  const start = Date.now();
  const link = waiting.querySelector('a');
  const text = document.createElement('span');
  text.textContent = 'Waiting for the first call… ';
  waiting.prepend(text);
  waiting.classList.add('active');

  const arrived = ({ path, state }) => {
    waiting.classList.remove('active');
    waiting.classList.add('arrived');
    text.textContent = `The first call has arrived: ${state}. `;
    link.href = path;
    link.textContent = 'Show the call';
  };

  const check = async () => {
    if (Date.now() - start > LONGEST_MS) {
      text.textContent = '';
      waiting.classList.remove('active');
      return;
    }
    if (document.visibilityState === 'visible') {
      const response = await fetch(waiting.dataset.firstCall).catch(() => null);
      const { call } = response?.ok ? await response.json() : { call: null };
      if (call !== null && call.state !== 'running') return arrived(call);
    }
    setTimeout(check, INTERVAL_MS);
  };
  setTimeout(check, INTERVAL_MS);
}
