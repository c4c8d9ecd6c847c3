/// <reference lib="dom" />

/**
 * Runs in the page, in the world of its own scripts. Blocks navigations that send no request: to `about:blank`, `blob:`
 * and `data:` URLs, and through the history. Request interception blocks all other navigations. They are not blocked
 * here, because a form submission that is blocked here would keep the page from loading.
 */
export function preventLeaving(): void {
  if (window !== window.top) return;
  navigation.addEventListener('navigate', (event) => {
    if (!event.destination.url.startsWith('http') && event.cancelable) event.preventDefault();
  });
  History.prototype.back = History.prototype.forward = History.prototype.go = () => undefined;
  const never = new Promise<NavigationHistoryEntry>(() => undefined);
  const stay = () => ({ committed: never, finished: never });
  Navigation.prototype.back = Navigation.prototype.forward = Navigation.prototype.traverseTo = stay;
}
