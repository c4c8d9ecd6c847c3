/// <reference lib="dom" />

/**
 * Runs in the page before the page's own scripts. Rejects the registration of service workers, with the error that
 * browsers use in a private window: requests of a service worker bypass request interception, and no service worker
 * could outlive the page anyway.
 */
export function refuseServiceWorkers(): void {
  if (!('ServiceWorkerContainer' in globalThis)) return;
  ServiceWorkerContainer.prototype.register = () =>
    Promise.reject(new DOMException('The operation is insecure.', 'SecurityError'));
}
