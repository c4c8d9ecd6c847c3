import type { CDPSession } from 'puppeteer';

/** Only the developer tools would show it. */
const NAME = 'capture';

/** What may be handed into a page. */
type Argument = string | number;

/**
 * A JavaScript world of our own in whatever a tab holds. It shares the page's DOM and nothing that the page's scripts have
 * made of it: libraries replace what `document` and `Element` bring along. And callbacks come in it even where the page's
 * own scripts may not run (`Content-Security-Policy: sandbox`).
 */
export interface IsolatedWorld {
  /**
   * @param fn runs in the page, so it holds all that it uses, or was given that by `bring`
   * @throws what it throws there; when the page is left meanwhile
   */
  evaluate<Arguments extends Argument[], Result>(
    fn: (...args: Arguments) => Result,
    ...args: Arguments
  ): Promise<Awaited<Result>>;
  /** Makes functions known, by their names, to what is evaluated in the same document from then on. */
  define(functions: readonly ((...args: never[]) => unknown)[]): Promise<void>;
}

export async function openIsolatedWorld(client: CDPSession): Promise<IsolatedWorld> {
  // A page's main frame goes by the name of its target.
  const { targetInfo } = await client.send('Target.getTargetInfo');
  /** For a document that has the world already this only finds it. */
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
