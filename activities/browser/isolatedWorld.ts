import type { CDPSession } from 'puppeteer';

/** Visible in developer tools only. */
const NAME = 'capture';

/** An argument of a function that runs in the page. */
type Argument = string | number;

/**
 * An isolated JavaScript world in the current document. It shares the DOM, but not the page's changes to built-in objects
 * such as `document` and `Element.prototype`. Its callbacks run even where the page's scripts are disabled
 * (`Content-Security-Policy: sandbox`).
 */
export interface IsolatedWorld {
  /**
   * @param fn runs in the page: it uses only its own code and functions passed to `define`
   * @throws the error of the function; when the page navigates meanwhile
   */
  evaluate<Arguments extends Argument[], Result>(
    fn: (...args: Arguments) => Result,
    ...args: Arguments
  ): Promise<Awaited<Result>>;
  /** Defines functions by name for later evaluations in the same document. */
  define(functions: readonly ((...args: never[]) => unknown)[]): Promise<void>;
}

export async function openIsolatedWorld(client: CDPSession): Promise<IsolatedWorld> {
  // The id of a page's main frame equals that of its target.
  const { targetInfo } = await client.send('Target.getTargetInfo');
  /** Returns the existing world when the document already has one. */
  const context = async (): Promise<number> => {
    const { executionContextId } = await client.send('Page.createIsolatedWorld', {
      frameId: targetInfo.targetId,
      worldName: NAME,
    });
    return executionContextId;
  };
  return {
    async define(functions) {
      await client.send('Runtime.evaluate', {
        expression: functions.map(String).join('\n'),
        contextId: await context(),
        returnByValue: true,
      });
    },
    async evaluate(fn, ...args) {
      const { result, exceptionDetails } = await client.send('Runtime.callFunctionOn', {
        functionDeclaration: String(fn),
        executionContextId: await context(),
        arguments: args.map((value) => ({ value })),
        awaitPromise: true,
        returnByValue: true,
      });
      if (exceptionDetails !== undefined)
        throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      return result.value;
    },
  };
}
