import { type TokenHandler, Tokenizer } from 'parse5';

/**
 * Largest number of attributes of a tag. The tokenizer compares each new attribute with all earlier ones of the tag.
 */
const MAX_ATTRIBUTES = 256;

/** A tokenizer that takes time proportional to the length of its input, even for malicious input. */
export class BoundedTokenizer extends Tokenizer {
  constructor(handler: TokenHandler) {
    super({}, handler);
  }

  protected override _leaveAttrName(): void {
    const { currentToken } = this;
    if (currentToken !== null && 'attrs' in currentToken && currentToken.attrs.length >= MAX_ATTRIBUTES)
      return;
    super._leaveAttrName();
  }
}
