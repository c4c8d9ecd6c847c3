/// <reference lib="dom" />

/**
 * Runs in a frame before autoconsent's content script: what that says is kept for `answerConsent`.
 *
 * @returns whether there is any use in it: it needs a body to look at, and leave to be called back, which a frame has not
 *   whose scripts may not run
 */
export function listenToConsent(): boolean {
  let called = false;
  const target = new EventTarget();
  target.addEventListener('call', () => {
    called = true;
  });
  target.dispatchEvent(new Event('call'));
  if (!called || document.body === null) return false;
  const said: unknown[] = [];
  Reflect.set(globalThis, 'autoconsentSaid', said);
  Reflect.set(globalThis, 'autoconsentSendMessage', async (message: unknown) => {
    said.push(message);
  });
  return true;
}

/**
 * Runs in a frame after autoconsent's content script: has it look, once, and decline what it finds.
 *
 * @param rules a `RuleBundle` of the package, as JSON
 * @returns whether it has declined something, or hidden it
 */
export async function answerConsent(rules: string, ms: number): Promise<boolean> {
  const said: unknown = Reflect.get(globalThis, 'autoconsentSaid');
  const receive: unknown = Reflect.get(globalThis, 'autoconsentReceiveMessage');
  if (!Array.isArray(said) || typeof receive !== 'function') return false;
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
    if (said.some(({ type }) => type === 'autoconsentDone')) return true;
    if (said.some(({ state }) => state?.lifecycle === 'nothingDetected')) return false;
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  return said.some(({ type }) => type === 'optOutResult');
}
