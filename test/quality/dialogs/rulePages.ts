import type { AutoConsentCMPRule, AutoConsentRuleStep, ElementSelector } from '@duckduckgo/autoconsent';
import { LANGUAGES } from '../../browser/overlayLanguages.ts';
import { article } from '../../browser/overlayPages.ts';
import type { Random } from '../../helpers/random.ts';
import { addressFor } from './addresses.ts';
import { type Compound, parseSelectors, Unsupported } from './selectors.ts';
import { below, ensure, find, isAddress, type Made, make } from './tree.ts';

/** A page with a dialog that a rule of autoconsent describes. */
export interface RulePage {
  rule: string;
  /** Address of the page, which the rule can ask for. */
  url: string;
  /** HTML by address: the page, and a frame if the rule is one for frames. */
  documents: ReadonlyMap<string, string>;
  /** Number of clicks that close the dialog; 0 if the rule only hides it. */
  clicks: number;
}

const VOID = new Set(['input', 'img', 'link', 'meta', 'br', 'hr', 'source']);
/** Elements without a view, which a dialog is not made of. */
const HEAD = new Set(['script', 'link', 'meta', 'style', 'title']);
/** Elements that cannot contain the text and the controls of a dialog. */
const CLOSED = new Set([
  ...VOID,
  ...HEAD,
  'button',
  'a',
  'span',
  'label',
  'svg',
  'h1',
  'h2',
  'h3',
  'p',
  'strong',
]);
const FIELD = /^(?:input|select|option)$/;
const CDN = 'https://cdn.example/';

/** Positions of dialogs over the page, and whether a backdrop lies under them. */
const LAYOUTS: readonly { style: string; backdrop: boolean }[] = [
  { style: 'left:0;right:0;bottom:0;padding:16px', backdrop: false },
  { style: 'left:0;right:0;top:0;padding:16px', backdrop: false },
  { style: 'left:30%;top:30%;width:40%;padding:24px', backdrop: true },
  { style: 'right:24px;bottom:24px;width:360px;padding:16px', backdrop: false },
  { style: 'left:24px;bottom:24px;width:320px;padding:16px', backdrop: false },
  { style: 'left:20%;top:15%;width:60%;min-height:50%;padding:32px', backdrop: true },
  { style: 'inset:0;padding:80px', backdrop: false },
];

/** Makes the dialog work: each expected click shows its part or closes the dialog. */
const SCRIPT = `
  let clicked = 0;
  const later = [], tops = [];
  window.madeTops = tops;
  const show = () => {
    for (const { place, element, after } of later) if (after === clicked) place.replaceWith(element);
  };
  const close = () => {
    for (const cookie of COOKIES) document.cookie = cookie;
    document.documentElement.classList.remove('made-lock');
    setTimeout(() => {
      for (const top of tops) REMOVES ? top.remove() : top.style.setProperty('display', 'none', 'important');
      if (parent !== window) parent.postMessage('made-close', '*');
    }, FADE);
  };
  window.madeSetUp = (root) => {
    const take = (element, name) => {
      const value = element.getAttribute(name);
      element.removeAttribute(name);
      return value;
    };
    for (const element of root.querySelectorAll('[made-top],[made-clicks],[made-after]')) {
      if (take(element, 'made-top') !== null) tops.push(element);
      const clicks = (take(element, 'made-clicks') ?? '').split(' ');
      if (clicks[0] !== '') element.addEventListener('click', () => {
        if (!clicks.includes(String(clicked))) return;
        clicked += 1;
        if (clicked === CLICKS) close(); else show();
      });
      const after = take(element, 'made-after');
      if (after === null) continue;
      const place = document.createComment('');
      later.push({ place, element, after: Number(after) });
    }
    for (const element of root.querySelectorAll('*')) if (element.shadowRoot) window.madeSetUp(element.shadowRoot);
    for (const { place, element } of later) if (!place.parentNode && element.isConnected) element.replaceWith(place);
    root.addEventListener('click', (event) => event.preventDefault());
  };
  window.madeSetUp(document);
  addEventListener('message', ({ data }) => { if (data === 'made-close') for (const top of tops) top.remove(); });`;

const escapeText = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
const escapeValue = (text: string): string => escapeText(text).replace(/"/g, '&quot;');

function attributesOf(made: Made): string {
  const own = new Map(made.attributes);
  if (made.id !== null) own.set('id', made.id);
  const classes = [own.get('class'), ...made.classes].filter((name) => name !== undefined);
  if (classes.length > 0) own.set('class', classes.join(' '));
  if (made.clicks.length > 0) own.set('made-clicks', made.clicks.join(' '));
  if (made.after > (made.parent?.after ?? 0)) own.set('made-after', String(made.after));
  return [...own]
    .map(([name, value]) => {
      const isPath = isAddress(name) && made.tag !== 'a' && !/^(?:https?:|\/\/|data:|#)/.test(value);
      return ` ${name}="${escapeValue(isPath ? CDN + value.replace(/^\//, '') : value)}"`;
    })
    .join('');
}

function htmlOf(made: Made): string {
  const content = escapeText(made.text) + made.children.map(htmlOf).join('');
  const inner =
    made.inner === null ? '' : made.inner.children.map(htmlOf).join('') + escapeText(made.inner.text);
  if (made.tag === 'iframe' && made.inner !== null) {
    const own = `${inner}<script>parent.madeSetUp(document)</script>`;
    return `<iframe${attributesOf(made)} srcdoc="${escapeValue(own)}"></iframe>`;
  }
  const shadow = made.inner === null ? '' : `<template shadowrootmode="open">${inner}</template>`;
  if (made.tag === 'dialog') made.attributes.set('open', '');
  const start = `<${made.tag}${attributesOf(made)}>`;
  return VOID.has(made.tag) ? start : `${start}${shadow}${content}</${made.tag}>`;
}

/** Returns a selector of one element, for which the element needs no attribute. */
function pathOf(made: Made, body: Made): string {
  const { parent } = made;
  if (parent === null || made === body) return 'body';
  return `${pathOf(parent, body)} > :nth-child(${parent.children.indexOf(made) + 1})`;
}

/** Builds the elements that the steps of a rule ask for, in the order of the steps. */
class RuleDocument {
  readonly html = make('html', null);
  readonly body = make('body', this.html);
  readonly head: Made[] = [];
  /** The element that the rule hides, if any, which lies over the page instead of the topmost one. */
  box: Made | null = null;
  /** Number of clicks so far that lead to another part of the dialog, or close it. */
  clicks = 0;
  /** Selectors that the document must match in the end, and those that it must not match. */
  readonly #wanted: ElementSelector[] = [];
  readonly #unwanted: ElementSelector[] = [];
  #container: Made | null = null;
  readonly #random: Random;
  readonly #accept: string;
  constructor(random: Random, accept: string) {
    this.#random = random;
    this.#accept = accept;
  }

  /** The topmost element of the dialog. */
  get top(): Made {
    if (this.#container === null) throw new Unsupported('no dialog');
    return this.#container;
  }

  #scope(first: Compound, tag: string): Made {
    if (HEAD.has(first.tag ?? '')) {
      const place = make('head', null);
      this.head.push(place);
      return place;
    }
    if (this.#container === null && CLOSED.has(first.tag ?? tag)) this.#container = make('div', this.body);
    if (this.#container === null || this.#container.inner !== null || this.#container.tag === 'iframe')
      return this.body;
    return this.#container;
  }

  /** Returns the root in which the second selector of a chain is looked up. */
  #innerOf(made: Made): Made {
    if (made.tag !== 'iframe' && !made.tag.includes('-')) return made;
    made.inner ??= make('root', null);
    return made.inner;
  }

  #ensureIn(root: Made, selector: string, tag: string, scope: (first: Compound) => Made): Made {
    if (!selector.startsWith('xpath/')) {
      const [first] = parseSelectors(selector);
      return ensure(root, first ?? [], { scope, tag, layer: this.clicks });
    }
    const found = /^xpath\/\/\/([\w*]+)\[contains\((?:\.|text\(\)),\s*['"]([^'"]+)['"]\)/.exec(selector);
    if (found === null) throw new Unsupported(selector);
    const [, name = '*', text = ''] = found;
    const own = name === '*' ? 'button' : name;
    const made = below(root).find((each) => each.tag === own && each.text.includes(text));
    const compound = { tag: own, id: null, classes: [], attributes: [], pseudos: [] };
    return made ?? make(own, scope(compound), { text, after: this.clicks });
  }

  ensure(selector: ElementSelector, tag = 'div'): Made {
    const [first = '', ...rest] = typeof selector === 'string' ? [selector] : selector;
    this.#wanted.push(selector);
    const scope = (compound: Compound) => this.#scope(compound, rest.length === 0 ? tag : 'div');
    let made = this.#ensureIn(this.html, first, rest.length === 0 ? tag : 'div', scope);
    for (const [at, next] of rest.entries()) {
      const root = this.#innerOf(made);
      made = this.#ensureIn(root, next, at === rest.length - 1 ? tag : 'div', () => root);
    }
    let top = made;
    while (top.parent !== null && top.parent !== this.body) top = top.parent;
    if (top.parent === this.body) this.#container ??= top;
    return made;
  }

  #matches(selector: ElementSelector): boolean {
    const [first = '', ...rest] = typeof selector === 'string' ? [selector] : selector;
    let made: Made | undefined = this.html;
    for (const one of [first, ...rest]) {
      if (one.startsWith('xpath/')) return true;
      const root: Made = made;
      const places = root === this.html ? [root, ...this.head] : [root];
      made = places
        .flatMap((place) => parseSelectors(one).map((each) => find(place, each)))
        .find((each) => each !== undefined);
      if (made === undefined) return false;
      made = made.inner ?? made;
    }
    return true;
  }

  /** @throws Unsupported when the document is not as the steps of the rule want it */
  check(): void {
    for (const selector of this.#wanted)
      if (!this.#matches(selector)) throw new Unsupported(`not made: ${selector}`);
    for (const selector of this.#unwanted)
      if (this.#matches(selector)) throw new Unsupported(`made, but not wanted: ${selector}`);
  }

  detect(steps: readonly AutoConsentRuleStep[]): void {
    for (const step of steps) {
      if (step.eval !== undefined) throw new Unsupported('eval');
      const selector = step.exists ?? step.visible ?? step.waitForVisible ?? step.waitFor;
      if (selector !== undefined && step.negated !== true && step.check !== 'none') this.ensure(selector);
      if (step.any !== undefined) this.detect(step.any.slice(0, 1));
      if (step.if !== undefined) this.#branch(step, (some) => this.detect(some));
    }
  }

  #branch(step: AutoConsentRuleStep, run: (steps: readonly AutoConsentRuleStep[]) => void): void {
    const condition = step.if?.exists ?? step.if?.visible;
    if (condition === undefined) throw new Unsupported('condition');
    const isElse = this.#random.integer(0, 1) === 1 && step.else !== undefined && !this.#matches(condition);
    if (isElse) this.#unwanted.push(condition);
    else this.ensure(condition, 'button');
    run((isElse ? step.else : step.then) ?? []);
  }

  /** Elements that rules hide contain the dialog, so they are made first. */
  hides(steps: readonly AutoConsentRuleStep[]): void {
    for (const { hide } of steps)
      if (hide !== undefined) {
        const made = this.ensure(hide);
        this.box ??= made;
      }
  }

  #click(selector: ElementSelector, step: AutoConsentRuleStep): void {
    const made = this.ensure(selector, 'button');
    const label = 'text' in step && typeof step.text === 'string' ? step.text : step.comment;
    if (FIELD.test(made.tag) && made.attributes.get('type') !== 'submit') return;
    if (made.text === '' && made.children.length === 0) made.text = label ?? '';
    if (step.all === true) return;
    made.clicks.push(this.clicks);
    this.clicks += 1;
  }

  optOut(steps: readonly AutoConsentRuleStep[]): void {
    for (const step of steps) {
      if (step.eval !== undefined) throw new Unsupported('eval');
      const awaited = step.waitFor ?? step.waitForVisible ?? step.exists ?? step.visible;
      const isAbsent = step.check === 'none' || step.negated === true;
      if (awaited !== undefined && !isAbsent && step.optional !== true) this.ensure(awaited, 'button');
      const clicked = step.click ?? step.waitForThenClick;
      if (clicked !== undefined) this.#click(clicked, step);
      if (step.any !== undefined) this.optOut(step.any.slice(0, 1));
      if (step.if !== undefined) this.#branch(step, (some) => this.optOut(some));
    }
  }

  /** Adds the text of the dialog and the labels of its controls. */
  fill(consent: string, decline: string): void {
    const all = (root: Made): Made[] =>
      below(root).flatMap((each) => [each, ...(each.inner === null ? [] : all(each.inner))]);
    const elements = all(this.html);
    const first = elements.find(({ clicks }) => clicks.includes(0));
    const labelled = (made: Made, label: string) => {
      if (made.tag === 'input') made.attributes.set('value', made.attributes.get('value') ?? label);
      else if (made.text === '' && made.children.length === 0) made.text = label;
    };
    for (const made of elements) {
      if (made.clicks.length > 0)
        labelled(made, made.clicks.includes(this.clicks - 1) ? decline : 'Cookie settings');
      else if (made.tag === 'button') labelled(made, this.#accept);
    }
    let place = first?.parent ?? this.top.inner ?? this.top;
    while (
      /^(?:button|a|span|label|ul|ol|tr|table)$/.test(place.tag) &&
      place.parent !== null &&
      place.parent !== this.body
    )
      place = place.parent;
    if (place === this.body) place = this.top;
    if (place.tag === 'iframe') place.inner ??= make('root', null);
    const inner = place.inner ?? place;
    inner.text = `${inner.text} ${consent} `;
    const isSimple = first?.parent?.children.every((each) => !each.isFiller && each.after === 0) === true;
    if (isSimple && first?.tag === 'button' && first.parent !== this.body && first.parent !== null)
      make('button', first.parent, { text: this.#accept });
  }
}

const cookiesOf = (steps: readonly AutoConsentRuleStep[]): string[] =>
  steps.flatMap(({ cookieContains, negated, any = [] }) => {
    const own = cookieContains === undefined || negated === true ? [] : [cookieContains];
    return [...own.map((text) => (text.includes('=') ? text : `${text}=1`)), ...cookiesOf(any)];
  });

/**
 * Makes a page with a dialog that a rule of autoconsent describes. The dialog closes when its controls are clicked in the
 * order of the rule.
 *
 * @throws Unsupported for rules that call functions of the page, and for selectors that cannot be met
 */
export function makeRulePage(rule: AutoConsentCMPRule, random: Random): RulePage {
  const texts = random.pick(Object.values(LANGUAGES));
  const made = new RuleDocument(random, texts.accept);
  made.hides(rule.optOut);
  made.detect(rule.detectCmp);
  made.detect(rule.detectPopup);
  made.optOut(rule.optOut);
  made.fill(texts.consent, texts.decline);
  made.check();
  if (made.clicks === 0 && !rule.optOut.some(({ hide }) => hide !== undefined))
    throw new Unsupported('no click');

  const layout = random.pick(LAYOUTS);
  const isInFrame = rule.runContext?.main === false;
  const { body, top } = made;
  const box = made.box !== null && below(body).includes(made.box) ? made.box : top;
  const place = isInFrame ? '' : `position:fixed;z-index:9000;background:#fff;color:#111;${layout.style}`;
  const hasBackdrop = layout.backdrop && !isInFrame;
  const style = `body{font:16px/1.5 sans-serif;margin:0}main{max-width:760px;margin:80px auto}.made-lock{overflow:hidden}
    ${pathOf(box, body)}{display:block;${place}}.made-veil{position:fixed;inset:0;background:rgba(0,0,0,.5);z-index:8999}`;
  // Marks elements for the script, which takes the marks away.
  for (const child of [...body.children, box])
    if (child === box || (child !== top && !child.isFiller)) child.attributes.set('made-top', '');
  const script = SCRIPT.replace('COOKIES', JSON.stringify(cookiesOf(rule.test ?? [])))
    .replace('REMOVES', String(random.integer(0, 1) === 1))
    .replace('FADE', String(random.pick([0, 0, 150, 250])))
    .replace('CLICKS', String(made.clicks === 0 ? -1 : made.clicks));
  const content = isInFrame ? '' : article();
  const veil = hasBackdrop ? '<div class="made-veil" made-top></div>' : '';
  made.html.classes.push(...(hasBackdrop && random.integer(0, 1) === 1 ? ['made-lock'] : []));
  const head = made.head.flatMap(({ children }) => children.map(htmlOf)).join('');
  const page = `<!doctype html><html${attributesOf(made.html)}><head><meta charset="utf-8"><title>Ferry</title>${head}<style>${style}</style></head><body${attributesOf(body)}>${body.children.map(htmlOf).join('')}${content}${veil}<script>${script}</script></body></html>`;

  const url = addressFor(rule.runContext?.urlPattern);
  const common = { rule: rule.name, clicks: made.clicks };
  if (!isInFrame) return { ...common, url, documents: new Map([[url, page]]) };
  const outer = 'https://ferry.example/';
  const frame = `<!doctype html><html><head><meta charset="utf-8"><title>Ferry</title><style>${style}iframe{position:fixed;z-index:9000;background:#fff;border:0;min-height:120px;${layout.style}}</style></head><body>${article()}<iframe made-top src="${escapeValue(url)}"></iframe><script>${script}</script></body></html>`;
  return {
    ...common,
    url: outer,
    documents: new Map([
      [outer, frame],
      [url, page],
    ]),
  };
}
