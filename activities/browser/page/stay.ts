/// <reference lib="dom" />

/**
 * Runs in the page, before its own scripts. Keeps it from leaving for what need not be asked for: an empty page, one of its
 * own making, the one before. (Anything else is refused where it is asked for: were a form stopped here, the page would
 * never be loaded.)
 */
export function stay(): void {
  if (window !== window.top) return;
  navigation.addEventListener('navigate', (event) => {
    if (!event.destination.url.startsWith('http') && event.cancelable) event.preventDefault();
  });
  History.prototype.back = History.prototype.forward = History.prototype.go = () => undefined;
}
