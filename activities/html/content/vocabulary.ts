import type { Element } from 'domhandler';
import { remember } from '../remember.ts';

/**
 * Words in classes, ids and roles by which pages of all kinds name their parts, by subject. They are evidence for the
 * model, which weighs it with the rest; none of them alone removes or keeps anything.
 */
const SUBJECTS: Readonly<Record<string, string>> = {
  nav: 'nav|navbar|navigation|menu|megamenu|submenu|dropdown|offcanvas|flyout|drawer|hamburger',
  header: 'header|masthead|topbar|top bar|banner|announcement|site header|page header',
  footer: 'footer|foot|colophon|bottom|copyright|legal|contentinfo',
  sidebar: 'sidebar|side|aside|rail|complementary|secondary|right col|left col|column right|column left',
  widget: 'widget|module|block|component|plugin',
  comment: 'comment|comments|disqus|respond|discussion|replies',
  related:
    'related|recommend|recommended|recommendation|recommendations|similar|also|more|trending|popular|latest|recirc|suggested|suggestions|upsell|cross sell|read next|next|previous|prev|recent',
  share: 'share|sharing|shares|social|follow|twitter|facebook|pinterest|addtoany|sharedaddy',
  promo:
    'promo|promotion|ad|ads|advert|advertisement|sponsor|sponsored|affiliate|banner|adsense|dfp|outbrain|taboola|paywall|offer|deal',
  consent:
    'cookie|cookies|consent|gdpr|ccpa|onetrust|optanon|cookiebot|didomi|usercentrics|truste|cmp|qc cmp2|cky|cmplz|iubenda',
  legal: 'privacy|notice|disclaimer|terms',
  modal: 'modal|popup|pop up|overlay|dialog|lightbox|tooltip|popover|toast|snackbar|alert',
  author: 'author|byline|bio|contributor|writer|posted by|profile|vcard',
  tags: 'tag|tags|category|categories|topic|topics|keyword|keywords|label|labels|chip|pill|eyebrow|kicker',
  newsletter: 'newsletter|subscribe|subscription|signup|sign up|optin|mailing|mailchimp|klaviyo',
  filter:
    'filter|filters|facet|facets|refine|refinement|sort|sorting|sortby|swatch|swatches|option|options|variant|variants',
  search: 'search|searchbox|searchform|autocomplete|typeahead',
  content:
    'content|contents|contentpane|main content|page content|rte|wysiwyg|prose|richtext|rich text|copy|markdown',
  article: 'article|articlebody|article body|post|entry|story|blog|entry content|post content|news',
  body: 'body|text|paragraph|txt',
  main: 'main|primary|center|middle',
  title: 'title|heading|headline|name|subtitle|subheading|tagline',
  lead: 'summary|abstract|lead|lede|intro|excerpt|standfirst|dek|teaser|overview|snippet',
  product: 'product|products|pdp|item detail|sku|prod|woocommerce',
  price: 'price|prices|pricing|amount|cost|sale|discount|savings|compare at|msrp',
  description: 'description|desc|details|detail|features|feature|benefits|highlights|about',
  spec: 'spec|specs|specification|specifications|attributes|attribute|properties|technical|dimensions|ingredients|ingredient',
  review:
    'review|reviews|rating|ratings|stars|star|testimonial|testimonials|yotpo|bazaarvoice|trustpilot|bv|judgeme',
  card: 'card|cards|tile|tiles|item|items|result|results|listing|listings|teaser',
  grid: 'grid|list|collection|catalog|feed|archive|row|loop|stream|gallery',
  post: 'message|messages|answer|answers|question|questions|thread|threads|topic body|postbody|post body|cooked|reply|replies|bbwrapper|usertext|messagetext|postcontent|postmessage|conversation',
  signature: 'signature|sig|quote|quoted|blockquote',
  code: 'code|highlight|highlighter|syntax|pre|prettyprint|hljs|sourcecode|codehilite|snippet|console|terminal',
  toc: 'toc|table of contents|contents|outline|on this page|jump|anchor|anchors|headerlink|permalink',
  caption: 'caption|figcaption|credit|credits|photo|image caption|wp caption',
  cart: 'cart|minicart|basket|bag|checkout|wishlist|add to cart|addtocart|buy|quantity|qty|shipping|delivery|payment|klarna|afterpay|pickup|stock|availability',
  hero: 'hero|jumbotron|splash|intro|billboard|masthead',
  faq: 'faq|faqs|accordion|accordions|collapse|collapsible|expander|tab|tabs|tabpanel|panel',
  section: 'section|container|wrapper|region|area|layout|elementor|wp block|shopify section',
  hidden:
    'hidden|hide|invisible|visually hidden|visuallyhidden|sr only|screen reader|screenreader|skip|offscreen|d none|print|noprint|mobile|desktop',
  action:
    'button|btn|cta|action|actions|toolbar|controls|control|edit|tools|tool|link|links|icon|icons|like|likes|vote|votes|voting|report|flag|copy button|print',
  count:
    'count|counts|counter|stats|stat|views|badge|badges|meta|metadata|info|byline|status|points|score|reputation',
  gallery:
    'gallery|carousel|slider|slide|slideshow|swiper|slick|thumb|thumbs|thumbnail|thumbnails|zoom|media|image|images|video|player',
  brand: 'logo|logos|brand|brands|partner|partners|client|clients|trust',
  support: 'help|support|contact|feedback|survey|helpful|chat|livechat|store locator|location|address|phone',
  reference: 'reference|references|reflist|citation|citations|footnote|footnotes|bibliography|cite|sources',
  lang: 'language|languages|lang|locale|country|currency|region selector|translate|version|versions',
  form: 'form|field|input|fieldset|select|dropdown|checkbox|radio|contact form|hs form|gform|wpcf7',
  step: 'step|steps|instruction|instructions|recipe|method|directions|nutrition',
  table: 'table|tabular|data|datatable|infobox|compare|comparison|chart',
};
export const SUBJECT_NAMES = Object.keys(SUBJECTS);

const SUBJECTS_OF = new Map<string, number[]>();
/** Words with which terms of two words begin. */
const STARTS = new Set<string>();
for (const [index, terms] of Object.values(SUBJECTS).entries())
  for (const term of terms.split('|')) {
    SUBJECTS_OF.set(term, [...(SUBJECTS_OF.get(term) ?? []), index]);
    const [start = '', more] = term.split(' ');
    if (more !== undefined) STARTS.add(start);
  }

const ATTRIBUTES = ['class', 'id', 'role', 'itemprop', 'data-testid', 'data-component', 'data-section-type'];
/** Longest text of an element's attributes that is read. */
const MAX_NAMES = 400;

/** Creates a function that returns the subjects that an element's names speak of, as indices. */
export function createSubjectReader(): (element: Element) => readonly number[] {
  const subjectsIn = remember((names: string): readonly number[] => {
    const words = names
      .slice(0, MAX_NAMES)
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .split(/[^a-z]+/);
    const found = new Set<number>();
    const add = (term: string): void => {
      for (const subject of SUBJECTS_OF.get(term) ?? []) found.add(subject);
    };
    for (const [at, word] of words.entries()) {
      add(word);
      if (STARTS.has(word)) add(`${word} ${words[at + 1] ?? ''}`);
    }
    return [...found];
  });
  return ({ name, attribs }) => {
    let names = name.includes('-') ? name : '';
    for (const attribute of ATTRIBUTES) {
      const value = attribs[attribute];
      if (value !== undefined) names += ` ${value}`;
    }
    return names === '' ? [] : subjectsIn(names);
  };
}
