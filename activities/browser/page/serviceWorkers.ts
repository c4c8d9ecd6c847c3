/// <reference lib="dom" />

/**
 * Runs in the page, before its own scripts. A service worker would be gone with the page, and what it fetches is seen by
 * nobody: pages are told what they are told in a private window.
 */
export function refuseServiceWorkers(): void {
  if (!('ServiceWorkerContainer' in globalThis)) return;
  ServiceWorkerContainer.prototype.register = () =>
    Promise.reject(new DOMException('The operation is insecure.', 'SecurityError'));
}
