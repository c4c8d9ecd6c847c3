import type { CDPSession } from 'puppeteer';
import * as elements from './page/elements.ts';

/** Name of the isolated world, which only developer tools show. */
const NAME = 'capture';
/** Source code of the functions that each function in the isolated world may call. */
const SHARED = Object.values(elements).map(String).join('\n');

/** An argument of a function that runs in the page. */
type Argument = string | number;

/**
 * An isolated JavaScript world in the current document. Functions that run in it share the DOM with the page, but do
 * not see the page's changes to built-in objects such as `document` and `Element.prototype`. Their callbacks run even
 * where the page's scripts are disabled (`Content-Security-Policy: sandbox`).
 */
export interface IsolatedWorld {
  /** Id of the page's main frame in the DevTools protocol. */
  readonly frameId: string;
  /**
   * Runs a function in the isolated world and resolves with its result.
   *
   * @param fn is sent as source code, so it may use only its own code, the functions of `page/elements.ts` and functions
   *   passed to `define`
   * @throws the error that the function throws; an error when the page navigates in the meantime
   */
  evaluate<Arguments extends Argument[], Result>(
    fn: (...args: Arguments) => Result,
    ...args: Arguments
  ): Promise<Awaited<Result>>;
  /** Runs functions one after the other, also those after one that throws. */
  evaluateEach(functions: readonly (() => void)[]): Promise<void>;
  /** Defines functions under their names, for later evaluations in the same document. */
  define(functions: readonly ((...args: never[]) => unknown)[]): Promise<void>;
  /** Runs a function with a node as `this`. @param backendNodeId its id in the DevTools protocol */
  evaluateOn(backendNodeId: number, fn: (this: Node) => void): Promise<void>;
}

export async function openIsolatedWorld(client: CDPSession): Promise<IsolatedWorld> {
  // In the DevTools protocol, the frame id of a page's main frame equals the id of the page's target.
  const { targetInfo } = await client.send('Target.getTargetInfo');
  const frameId = targetInfo.targetId;
  /**
   * Id of the isolated world's execution context. Chromium returns the existing world if the document already has one
   * of this name.
   */
  const context = async (): Promise<number> => {
    const { executionContextId } = await client.send('Page.createIsolatedWorld', {
      frameId,
      worldName: NAME,
    });
    return executionContextId;
  };
  return {
    frameId,
    async define(functions) {
      await client.send('Runtime.evaluate', {
        expression: [SHARED, ...functions.map(String)].join('\n'),
        contextId: await context(),
        returnByValue: true,
      });
    },
    async evaluate(fn, ...args) {
      const { result, exceptionDetails } = await client.send('Runtime.callFunctionOn', {
        functionDeclaration: `function (...values) { ${SHARED}\nreturn (${fn})(...values); }`,
        executionContextId: await context(),
        arguments: args.map((value) => ({ value })),
        awaitPromise: true,
        returnByValue: true,
      });
      if (exceptionDetails !== undefined)
        throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      return result.value;
    },
    async evaluateEach(functions) {
      await client.send('Runtime.callFunctionOn', {
        functionDeclaration: `function () { ${SHARED}\nfor (const step of [${functions.map(String).join(',')}]) try { step(); } catch {} }`,
        executionContextId: await context(),
      });
    },
    async evaluateOn(backendNodeId, fn) {
      const { object } = await client.send('DOM.resolveNode', {
        backendNodeId,
        executionContextId: await context(),
      });
      if (object.objectId !== undefined)
        await client.send('Runtime.callFunctionOn', {
          functionDeclaration: String(fn),
          objectId: object.objectId,
        });
    },
  };
}
