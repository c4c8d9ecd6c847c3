import { type TokenHandler, Tokenizer } from 'parse5';

/** Attributes of one tag that are kept. Each new one is compared with all before it. */
const ATTRIBUTES = 256;

/** A tokenizer whose time grows with the length of what it reads, whatever that is. */
export class BoundedTokenizer extends Tokenizer {
  constructor(handler: TokenHandler) {
    super({}, handler);
  }

  protected override _leaveAttrName(): void {
    const { currentToken } = this;
    if (currentToken !== null && 'attrs' in currentToken && currentToken.attrs.length >= ATTRIBUTES) return;
    super._leaveAttrName();
  }
}
