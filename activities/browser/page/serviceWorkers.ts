/// <reference lib="dom" />

/**
 * Runs in the page, before its own scripts. Refuses service workers with the error of a private window: their requests
 * bypass request interception, and none outlives the page.
 */
export function refuseServiceWorkers(): void {
  if (!('ServiceWorkerContainer' in globalThis)) return;
  ServiceWorkerContainer.prototype.register = () =>
    Promise.reject(new DOMException('The operation is insecure.', 'SecurityError'));
}
