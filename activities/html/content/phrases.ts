/** Phrases by which pages of all kinds name their parts, by subject. They are evidence for the model, like names of elements. */
const PHRASES: Readonly<Record<string, RegExp>> = {
  signup:
    /subscribe|newsletter|sign[ -]?up|log ?in|sign ?in|register|e-?mail address|your (?:e-?mail|inbox)|create (?:an )?account|unsubscribe/i,
  more: /^(?:read|see|view|show|load|learn|find out|discover|browse) ?(?:more|all|full|less)|^more\b|read more$|continue reading|view all|see all/i,
  related:
    /related|you (?:may|might) (?:also )?(?:like|enjoy|be interested)|recommended|popular|trending|similar|latest (?:news|posts|articles|stories)|recent(?:ly)? (?:posts|viewed|articles)|more (?:from|stories|articles|in|on)|also (?:bought|viewed|like)|up next|read next|don.t miss/i,
  comments: /\bcomments?\b|leave a reply|post a comment|\breply\b|responses?\b/i,
  thread:
    /\b(?:joined|posts|messages|location|member|likes|reactions?|quote|reply|upvote|downvote|solved|accepted|views|edited|said|wrote)\b/i,
  cart: /add to (?:cart|bag|basket|wishlist)|buy now|in stock|out of stock|sold out|quantity|checkout|shipping|delivery|pick ?up|returns?\b|financing|per month|klarna|afterpay/i,
  price: /(?:[$€£¥₹]|\b(?:usd|eur|gbp|rs\.?))\s?\d|\d\s?(?:€|£|kr\b|zł|usd\b|eur\b)/i,
  rating: /\d(?:\.\d)? (?:out of|\/) ?\d|\bstars?\b|\breviews?\b|\bratings?\b|[★☆]/i,
  date: /\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\b(?:19|20)\d\d\b|\d (?:min|hour|day|week|month|year)s?\b/i,
  caption: /photo|image|credit|getty|shutterstock|courtesy|source:|figure|\bfig\b|unsplash|reuters|\bafp\b/i,
  cta: /^(?:get started|learn more|contact|book|request|try|start|download|buy|shop|sign|join|get|schedule|explore|watch|apply|donate|call)\b/i,
  about:
    /description|overview|details|features|specification|about (?:this|the)|key|highlights|benefits|ingredients|dimensions|materials?|what.s (?:included|in the box)/i,
  question: /\?$|^(?:how|what|why|when|where|can|do|does|is|are|should)\b/i,
};
export const PHRASE_NAMES = Object.keys(PHRASES);

/** Subjects of headings above sections and of texts before lists. */
export const LEADS = ['related', 'comments', 'more', 'about', 'rating'];
const LEAD_INDICES = LEADS.map((name) => PHRASE_NAMES.indexOf(name));
/** Selects the phrases of `LEADS`. */
export const leadsOf = (phrases: readonly number[] | undefined): number[] =>
  LEAD_INDICES.map((index) => phrases?.[index] ?? 0);

const PATTERNS = Object.values(PHRASES);
/** Subjects whose phrases need no letter. */
const WITHOUT_LETTERS = new Set(['price', 'rating', 'date', 'question']);
const NEEDS_LETTER = PHRASE_NAMES.map((name) => !WITHOUT_LETTERS.has(name));
const LETTER = /[a-z]/i;
/** Longest text that is searched for phrases. */
const MAX_LENGTH = 160;
const NONE: readonly number[] = PATTERNS.map(() => 0);

/** Returns 1 for each subject of which a text has a phrase, and 0 for the others. */
export function readPhrases(text: string): readonly number[] {
  if (text.length > MAX_LENGTH) return NONE;
  const hasLetter = LETTER.test(text);
  return PATTERNS.map((pattern, subject) =>
    (hasLetter || NEEDS_LETTER[subject] === false) && pattern.test(text) ? 1 : 0,
  );
}
