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
  Reflect.set(globalThis, 'autoconsentTarget', target);
  Reflect.set(globalThis, 'autoconsentSendMessage', async (message: unknown) => {
    messages.push(message);
    target.dispatchEvent(new Event('message'));
  });
  return true;
}

/** How a rule of autoconsent ended. */
export interface Answer {
  /** Name of the rule. */
  rule: string;
  /** Whether the rule, by its own account, does not refuse consent. */
  cosmetic: boolean;
  /** Whether the rule clicked nothing and hid elements. */
  onlyHid: boolean;
}

/**
 * Runs in a frame after autoconsent's content script: starts one search for a consent dialog and declines the dialog
 * that it finds. Resolves without a pause, because a frame can be removed as soon as its dialog is answered.
 *
 * @param rules a `RuleBundle` of autoconsent, as JSON
 * @param ms time limit in milliseconds
 * @returns an `Answer`, or null if no dialog was found and answered. Scripts of the page can change the result.
 */
export async function answerConsent(rules: string, ms: number): Promise<unknown> {
  const messages: unknown = Reflect.get(globalThis, 'autoconsentMessages');
  const target: unknown = Reflect.get(globalThis, 'autoconsentTarget');
  const receive: unknown = Reflect.get(globalThis, 'autoconsentReceiveMessage');
  if (!Array.isArray(messages) || !(target instanceof EventTarget) || typeof receive !== 'function')
    return null;
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
  const done = await new Promise<Record<string, unknown> | null>((resolve) => {
    const look = () => {
      const found = messages.find(({ type }) => type === 'autoconsentDone');
      const isOver = messages.some(({ state }) =>
        ['nothingDetected', 'optOutFailed'].includes(state?.lifecycle),
      );
      if (found !== undefined || isOver) resolve(found ?? null);
    };
    target.addEventListener('message', look);
    setTimeout(() => resolve(null), ms);
    look();
  });
  if (done === null) return null;
  return {
    rule: done.cmp,
    cosmetic: done.isCosmetic === true,
    onlyHid: done.totalClicks === 0 && document.getElementById('autoconsent-css-rules') !== null,
  };
}

/**
 * Runs in a frame after `answerConsent`: waits until the dialog has faded out, and asks the rule's own test whether the dialog
 * is closed and consent refused.
 *
 * @param ms time limit in milliseconds
 * @returns the result of the test; null if the rule has none, or it does not end in time
 */
export async function confirmAnswer(ms: number): Promise<boolean | null> {
  /** Most dialogs fade out in less time. The tests of rules wait for it themselves. */
  const FADE_MS = 300;
  const messages: unknown = Reflect.get(globalThis, 'autoconsentMessages');
  const target: unknown = Reflect.get(globalThis, 'autoconsentTarget');
  const receive: unknown = Reflect.get(globalThis, 'autoconsentReceiveMessage');
  const hasTest =
    Array.isArray(messages) && messages.some(({ scheduleSelfTest }) => scheduleSelfTest === true);
  return new Promise((resolve) => {
    setTimeout(() => resolve(null), hasTest ? ms : Math.min(FADE_MS, ms));
    if (!hasTest || !(target instanceof EventTarget) || typeof receive !== 'function') return;
    target.addEventListener('message', () => {
      const found = messages.find(({ type }) => type === 'selfTestResult');
      if (found !== undefined) resolve(found.result === true);
    });
    void receive({ type: 'selfTest' });
  });
}
