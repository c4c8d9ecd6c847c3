const ENCODED = '%[\\da-f]{2}';
const ATOM = `(?:[\\w~$&'*+=-]|${ENCODED})+`;
const LABEL = `(?:[\\w-]|${ENCODED})+`;
/** The characters of URIs (RFC 3986 appendix A) without those that records need for other purposes: `,`, `;` and `!`. */
const CHARACTERS = `(?:[\\w.~$&'()*+=:@/?#[\\]-]|${ENCODED})*`;
/** A URI with one address, whose other characters are encoded (RFC 6068 section 2). The group is the domain. */
const MAILTO = new RegExp(
  `^mailto:${ATOM}(?:\\.${ATOM})*@(${LABEL}(?:\\.${LABEL})*)(?:[?#]${CHARACTERS})?$`,
  'i',
);
const OTHER = new RegExp(`^(?!mailto:)[a-z][a-z\\d+.-]*:${CHARACTERS}$`, 'i');

/** The domain of a mailto URI, in lower case; null for other texts. */
export const receiverOf = (uri: string): string | null => MAILTO.exec(uri)?.[1]?.toLowerCase() ?? null;

/** Whether the text is a URI to which a report can be sent. URIs of the Web need a host (RFC 9110 section 4.2). */
export const isUri = (text: string): boolean =>
  MAILTO.test(text) || (OTHER.test(text) && URL.canParse(text) && !/^https?:(?!\/\/[^/?#])/i.test(text));
