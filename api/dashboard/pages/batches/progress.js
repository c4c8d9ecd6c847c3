// Follows a batch by its server-sent events: shows its progress, and loads the page again when its state changes.
const run = document.querySelector('[data-events]');

if (run !== null) {
  const { events, page, state } = run.dataset;
  const bar = run.querySelector('progress');
  const pace = run.querySelector('[data-pace]');
  const number = new Intl.NumberFormat('en');
  const MINUTE_MS = 60_000;
  const LONG_MINUTES = 120;

  /** The words of `progressView.ts`. */
  const leftOf = (end) => {
    const minutes = Math.ceil((Date.parse(end) - Date.now()) / MINUTE_MS);
    if (minutes <= 1) return 'less than a minute left';
    return minutes <= LONG_MINUTES
      ? `about ${minutes} minutes left`
      : `about ${Math.round(minutes / 60)} hours left`;
  };

  const show = (batch) => {
    const { counts, rate, estimatedEndAt } = batch;
    const ended = counts.rows - counts.open;
    bar.value = ended;
    for (const element of document.querySelectorAll('[data-live]')) {
      const [group, name] = element.dataset.live.split('.');
      const value = group === 'ended' ? ended : batch[group][name];
      element.textContent = number.format(value);
      if (element.tagName === 'DATA') element.value = String(value);
    }
    if (rate === null) pace.textContent = '';
    else
      pace.textContent = `${number.format(rate)} rows per second${estimatedEndAt === null ? '' : `, ${leftOf(estimatedEndAt)}`}`;
  };

  const source = new EventSource(events);
  const leave = () => {
    source.close();
    // The page of a refused form has another address.
    location.replace(page);
  };
  source.addEventListener('progress', ({ data }) => {
    const batch = JSON.parse(data);
    if (batch.state === state) show(batch);
    else leave();
  });
  source.addEventListener('end', leave);
  window.addEventListener('pagehide', () => source.close());
  // When the user goes back, the browser may restore the page from its cache without its stream.
  window.addEventListener('pageshow', ({ persisted }) => {
    if (persisted) leave();
  });
}
