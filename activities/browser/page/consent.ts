/// <reference lib="dom" />

/**
 * Runs in a frame before autoconsent's content script: collects the messages of that script for `answerConsent`.
 *
 * @returns whether the content script can work in this frame. It needs a body, and event listeners, which do not run in
 *   a frame whose scripts are disabled.
 */
export function listenToConsent(): boolean {
  let called = false;
  const target = new EventTarget();
  target.addEventListener('call', () => {
    called = true;
  });
  target.dispatchEvent(new Event('call'));
  if (!called || document.body === null) return false;
  const messages: unknown[] = [];
  Reflect.set(globalThis, 'autoconsentMessages', messages);
  Reflect.set(globalThis, 'autoconsentSendMessage', async (message: unknown) => {
    messages.push(message);
  });
  return true;
}

/**
 * Runs in a frame after autoconsent's content script: starts one search for a consent dialog and declines the dialog
 * that it finds.
 *
 * @param rules a `RuleBundle` of autoconsent, as JSON
 * @param ms time limit in milliseconds
 * @returns whether a dialog was declined or hidden
 */
export async function answerConsent(rules: string, ms: number): Promise<boolean> {
  const messages: unknown = Reflect.get(globalThis, 'autoconsentMessages');
  const receive: unknown = Reflect.get(globalThis, 'autoconsentReceiveMessage');
  if (!Array.isArray(messages) || typeof receive !== 'function') return false;
  const config = {
    enabled: true,
    autoAction: 'optOut',
    disabledCmps: [],
    enablePrehide: false,
    enableCosmeticRules: true,
    detectRetries: 0,
    isMainWorld: true,
    logs: { errors: false },
  };
  void receive({ type: 'initResp', config, rules: JSON.parse(rules) });
  const until = performance.now() + ms;
  while (performance.now() < until) {
    if (messages.some(({ type }) => type === 'autoconsentDone')) return true;
    if (messages.some(({ state }) => state?.lifecycle === 'nothingDetected')) return false;
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  return messages.some(({ type }) => type === 'optOutResult');
}
