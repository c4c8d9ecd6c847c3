import test from 'ava';
import { loadPage } from '../../activities/html/load.ts';
import { toMarkdown } from '../../activities/html/markdown.ts';

function markdown(html: string, limit?: number): string {
  const bytes = Buffer.from(`<!doctype html><body>${html}`);
  const page = loadPage({
    url: 'https://site.test/dir/page',
    statusCode: 200,
    contentType: 'text/html; charset=utf-8',
    bytes,
  });
  return toMarkdown(page.$('body').contents().toArray(), {
    base: page.base,
    ...(limit !== undefined && { limit }),
  });
}

const CASES: [name: string, html: string, wanted: string][] = [
  [
    'links and images are absolute',
    '<p><a href="../a b?x=1#y">A</a> <img src="i.png" alt="I">',
    '[A](https://site.test/a%20b?x=1#y) ![I](https://site.test/dir/i.png)',
  ],
  [
    'links that lead nowhere are text',
    '<p><a href="javascript:x()">A</a> <a>B</a> <a href="mailto:a@b.test">C</a>',
    'A B C',
  ],
  ['a code block keeps lines made by br', '<pre>a<br>  b<br><br>c</pre>', '```\na\n  b\n\nc\n```'],
  [
    'a code block keeps lines made by blocks',
    '<pre><code><div>a</div><div>  b</div><div></div><div>c</div></code></pre>',
    '```\na\n  b\n\nc\n```',
  ],
  [
    'a code block keeps lines made by spans of lines',
    '<pre><code><span class="line">a</span><span class="line">b</span></code></pre>',
    '```\na\nb\n```',
  ],
  [
    'lines that end in a line break are not doubled',
    '<pre><code><span class="line">a</span>\n<span class="line">b</span>\n</code></pre>',
    '```\na\nb\n```',
  ],
  ['a code block without a code element is fenced', '<pre>x = 1</pre>', '```\nx = 1\n```'],
  ['code that has fences has longer fences', '<pre>```js\nx\n```</pre>', '````\n```js\nx\n```\n````'],
  [
    'the language of a class of the code',
    '<pre><code class="language-js hljs">x</code></pre>',
    '```js\nx\n```',
  ],
  ['the language of an attribute', '<pre data-lang="Rust"><code>x</code></pre>', '```rust\nx\n```'],
  [
    'the language of a class of the highlighter',
    '<div class="highlight highlight-source-python"><pre>x</pre></div>',
    '```python\nx\n```',
  ],
  [
    'the language of a container of Sphinx',
    '<div class="highlight-c notranslate"><div class="highlight"><pre>x</pre></div></div>',
    '```c\nx\n```',
  ],
  [
    'line numbers and buttons are no code',
    '<pre><button>Copy</button><code><span class="line-number">1</span>a\n<span class="line-number">2</span>b</code></pre>',
    '```\na\nb\n```',
  ],
  [
    'line numbers in a table are no code',
    '<table class="highlighttable"><tr><td class="linenos"><pre>1\n2</pre></td><td class="code"><div class="highlight"><pre>a\nb</pre></div></td></tr></table>',
    '```\na\nb\n```',
  ],
  [
    'text is not markup',
    '<p>&lt;b&gt; &amp;amp; *a* _b_ `c` [d](e) ~~f~~',
    '\\<b> \\&amp; \\*a\\* \\_b\\_ \\`c\\` \\[d]\\(e) \\~\\~f\\~\\~',
  ],
  [
    'the start of a line is not markup',
    '<p># a</p><p>1. b</p><p>1) c</p><p>- d</p><p>+ e</p><p>&gt; f</p><p>---</p><p>| g |',
    '\\# a\n\n1\\. b\n\n1\\) c\n\n\\- d\n\n\\+ e\n\n\\> f\n\n\\---\n\n\\| g |',
  ],
  ['prices are no formulas', '<p>It costs $20, or $30 for two', 'It costs $20, or $30 for two'],
  ['text in dollar signs is no formula', '<p>the $x$ variable', 'the \\$x\\$ variable'],
  [
    'a table with a caption',
    '<table><caption>Sizes</caption><tr><th>Name<th>Size<tr><td>a<td>1</table>',
    'Sizes\n\n| Name | Size |\n| - | - |\n| a | 1 |',
  ],
  [
    'a table without a header',
    '<table><tr><td>a<td>1<tr><td>b<td>2</table>',
    '| | |\n| - | - |\n| a | 1 |\n| b | 2 |',
  ],
  [
    'lists, paragraphs and code in cells',
    '<table><tr><th>a<th>b<tr><td><ul><li>x<li>y</ul><td><p>p<p>q<pre>i\nj</pre></table>',
    '| a | b |\n| - | - |\n| • x<br>• y | p<br>q<br>`i`<br>`j` |',
  ],
  [
    'a pipe in a cell',
    '<table><tr><th>a<th>b<tr><td>x|y<td><code>i|j</code></table>',
    '| a | b |\n| - | - |\n| x\\|y | `i\\|j` |',
  ],
  [
    'spanning cells leave empty cells',
    '<table><tr><th>a<th>b<th>c<tr><td colspan=2>x<td rowspan=2>y<tr><td>p<td>q</table>',
    '| a | b | c |\n| - | - | - |\n| x | | y |\n| p | q | |',
  ],
  [
    'a table that only arranges is no table',
    '<table><tr><td><h2>A</h2><p>x</p></td><td><p>y</p></td></tr></table>',
    '## A\n\nx\n\ny',
  ],
  [
    'markup in a table is not raw HTML',
    '<table><tr><th>a<th>b<tr><td><script>x()</script>&lt;script&gt;<td><div onclick="x()">y</div></table>',
    '| a | b |\n| - | - |\n| \\<script> | y |',
  ],
  [
    'MathML with TeX is one formula',
    '<p>so <math><semantics><mrow><mi>x</mi><mo>+</mo><mn>1</mn></mrow><annotation encoding="application/x-tex">x+1</annotation></semantics></math>.',
    'so $x+1$.',
  ],
  [
    'a formula of KaTeX is one formula',
    '<p><span class="katex"><span class="katex-mathml"><math><semantics><mi>x</mi><annotation encoding="application/x-tex">x_1</annotation></semantics></math></span><span class="katex-html" aria-hidden="true">x1</span></span>',
    '$x_1$',
  ],
  ['MathML without TeX', '<p><math><mfrac><mi>a</mi><mi>b</mi></mfrac></math>', '$\\frac{a}{b}$'],
  [
    'a formula on its own lines',
    '<p>a</p><math display="block"><semantics><mi>x</mi><annotation encoding="application/x-tex">x^2</annotation></semantics></math>',
    'a\n\n$$\nx^2\n$$',
  ],
  [
    'a card is one link',
    '<a href="/c"><div><h3>Title</h3><p>Text</p></div></a>',
    '### [Title](https://site.test/c)\n\nText',
  ],
  ['headings have one line', '<h2>One<br>two</h2>', '## One two'],
  [
    "GitHub's headings",
    '<div class="markdown-heading"><h2>Usage</h2><a class="anchor" href="#usage"><svg></svg></a></div>',
    '## Usage',
  ],
  ['links of headings to themselves are left out', '<h2>Usage<a href="#usage">¶</a></h2>', '## Usage'],
  [
    'images that scripts load',
    '<p><img src="data:image/gif;base64,R0lGOD" data-src="/a.png" alt="A"><img data-srcset="/b1.png 1x, /b2.png 2x" alt="B">',
    '![A](https://site.test/a.png)![B](https://site.test/b2.png)',
  ],
  [
    'an image of a picture element',
    '<picture><source srcset="/a.webp 1x"><img alt="A"></picture>',
    '![A](https://site.test/a.webp)',
  ],
  [
    'an image in its URL is its alternative text',
    '<p>a <img src="data:image/png;base64,AAAA" alt="a dot">',
    'a a dot',
  ],
  ['pixels are left out', '<p>a<img src="/p.gif" width=1 height=1>', 'a'],
  [
    'task lists',
    '<ul><li><input type=checkbox checked> a<li><input type=checkbox> b</ul>',
    '- [x] a\n- [ ] b',
  ],
  ['lists in lists', '<ol start=3><li>a<ul><li>b</ul><li>c</ol>', '3. a\n   - b\n4. c'],
  ['marked text keeps the space around it outside', '<p>a<b> b </b>c <i>d</i>', 'a **b** c *d*'],
  ['deleted text', '<p><del>a</del>', '~~a~~'],
  ['quotations', '<blockquote><p>a<p>b</blockquote>', '> a\n>\n> b'],
  ['breaks', '<p>a<br>b', 'a\\\nb'],
  [
    'a bare URL whose characters must be escaped is no link, which would take the escapes for its own',
    '<p>https://a.test/?b=1&amp;c=2 https://a.test/&lt;b> https://a.test/<b>d</b> www.a.test/*e* HTTP://a.test/*f* https://a.test/x_y',
    'https://a.test/?b=1&c=2 https\\://a.test/\\<b> https\\://a.test/**d** www\\.a.test/\\*e\\* HTTP\\://a.test/\\*f\\* https://a.test/x_y',
  ],
  [
    'a link that all of a code is in',
    '<p><code><a href="/f"><b>f()</b></a></code>',
    '[`f()`](https://site.test/f)',
  ],
  [
    'lines that a style keeps',
    '<div style="white-space: pre-wrap">a\n  b<p style="white-space: normal">c\nd</div><code style="display: block">e<br> f</code>',
    'a\\\nb\n\nc d\n\n```\ne\n f\n```',
  ],
  [
    'languages that classes name without a prefix, or other attributes',
    '<pre><code class="python hljs">a</code></pre><pre class="rust">b</pre><pre lang="json">c</pre><pre data-enlighter-language="php">d</pre><div class="highlight"><pre class="highlight js">e</pre></div><pre lang="de">f</pre>',
    '```python\na\n```\n\n```rust\nb\n```\n\n```json\nc\n```\n\n```php\nd\n```\n\n```js\ne\n```\n\n```\nf\n```',
  ],
  [
    'the language of a container around a table with line numbers',
    '<div class="highlight-c"><div class="highlight"><table class="highlighttable"><tr><td class="linenos"><pre>1</pre><td class="code"><div><pre>a</pre></div></table></div></div>',
    '```c\na\n```',
  ],
  [
    'code in a table without pre',
    '<table class="highlight"><tr><td class="blob-num" data-line-number=1><td class="blob-code">a<tr><td class="blob-num"><td class="blob-code">  b</table>',
    '```\na\n  b\n```',
  ],
  [
    'lines that end in br, and line numbers without a table',
    '<figure class="highlight js"><table><tr><td class="gutter"><pre><span class="line">1</span><br></pre><td class="code"><pre><span class="line">a</span><br><span class="line">b</span><br></pre></table></figure><pre><span class="ln">1</span>c\n<span style="user-select: none">2</span>d\n<a href="#3">3</a>e\n<span class="ln">f</span></pre>',
    '```js\na\nb\n```\n\n```\nc\nd\ne\nf\n```',
  ],
  [
    "Prism's marks of changed lines are part of the lines",
    '<pre><span class="token deleted"><span class="token prefix">-</span><span class="token line">a\n</span></span><span class="token inserted"><span class="token prefix">+</span><span class="token line">b\n</span></span></pre>',
    '```\n-a\n+b\n```',
  ],
  [
    'what only serves the code beside it is left out',
    '<div><button title="Copy Code"></button><span class="lang">ts</span><pre>a</pre><div class="line-numbers-wrapper"><span>1</span></div><div class="toolbar">TypeScript <button>Copy</button></div></div><p class="lang">English',
    '```\na\n```\n\nEnglish',
  ],
  [
    'a cell of a table that only arranges is a block',
    '<table role="presentation"><tr><td>a<td>b</table>',
    'a\n\nb',
  ],
  [
    'a row span of 0, and a foot before the body',
    '<table><tr><th>a<th>b<tfoot><tr><td>e<td>f</tfoot><tbody><tr><td rowspan=0>c<td>d<tr><td>g</table>',
    '| a | b |\n| - | - |\n| c | d |\n| | g |\n| e | f |',
  ],
  [
    'a formula that MathJax 2 shows in several ways is one formula',
    '<p>so <span class="MathJax_Preview">x</span><span class="MathJax"><math><mi>x</mi></math></span><script type="math/tex">x^2</script>.',
    'so $x^2$.',
  ],
  [
    'formulas that are TeX in the page',
    '<p><span class="math inline">\\(a\\)</span> <span class="math-container">$b$</span> <math-renderer>$c$</math-renderer> <code class="language-math math-inline">d</code> <span class="math">e</span></p><div class="math">\\[f\\]</div><pre class="js-render-math" data-math-style="display"><code>g</code></pre>',
    '$a$ $b$ $c$ $d$ e\n\n$$\nf\n$$\n\n$$\ng\n$$',
  ],
  [
    'a card without a heading or paragraph of its own',
    '<a href="/c"><ul><li>a<li>b</ul></a>',
    '- [a](https://site.test/c)\n- b',
  ],
  [
    'marks and labels by which headings link to themselves are left out',
    '<h2>A<a class="hash-link" href="#a">\u200b</a></h2><h2>B</h2><a class="anchor-link" href="#b"><span>Section titled B</span></a><p>C<a class="headerlink" href="#c">¶</a><h2><a class="anchor" href="#d">D</a></h2>',
    '## A\n\n## B\n\nC\n\n## [D](https://site.test/dir/page#d)',
  ],
  [
    'headings by their role',
    '<div role="heading" aria-level="3">A</div><p>b <span role="heading">C</span>',
    '### A\n\nb\n\n## C',
  ],
  [
    'images that scripts load, from attributes of any name',
    '<p><img src="data:," data-cfsrc="/a.png"><img src="/lazy_placeholder.gif" data-echo="/b.jpg?x"><img src="/c.png" data-lazy="true" data-error-src="/e.png"><img src="data:," onerror="x(\'/e.png\')" alt="D"><amp-img src="/f.png">',
    '![](https://site.test/a.png)![](https://site.test/b.jpg?x)![](https://site.test/c.png)D![](https://site.test/f.png)',
  ],
  [
    'the largest image of a srcset',
    '<p><img srcset="/a.png 400w,/b,1.png 1200w, /c.png 800w">',
    '![](https://site.test/b,1.png)',
  ],
  [
    'images that only a noscript has',
    '<p><img src="data:," alt="A"><noscript><img src="/a.png?x&amp;y" alt="A"></noscript></p><p><img src="/b.png" alt="B"><noscript><img src="/b.png" alt="B"></noscript>c<p><noscript><img src="/count"></noscript>',
    '![A](https://site.test/a.png?x&y)\n\n![B](https://site.test/b.png)c',
  ],
  [
    'task lists without fields',
    '<ul><li><task-button></task-button><input type=checkbox> a<li><span role="checkbox" aria-checked="true"></span> b<li><i class="fa fa-check-square-o"></i> c<li data-checked="false">d</ul><ul data-type="taskList"><li data-checked="true">e</ul><ol><li data-list="unchecked">f</ol>',
    '- [ ] a\n- [x] b\n- [x] c\n- d\n\n* [x] e\n\n- [ ] f',
  ],
  [
    'numbers of list items',
    '<ol start=2><li>a<li value=7>b<li>c</ol><p>-<ol reversed><li>d<li>e</ol>',
    '2. a\n\n7) b\n8) c\n\n\\-\n\n2. d\n\n1) e',
  ],
  [
    'an ampersand before a letter is a reference only with a semicolon',
    '<p>R&amp;D &amp;copy; <a href="/?a=1&b=2">c</a>',
    'R&D \\&copy; [c](https://site.test/?a=1&b=2)',
  ],
  [
    'marks that follow each other are one',
    '<p><code>a</code><code>b</code> <del>c</del><del>d</del>',
    '`ab` ~~cd~~',
  ],
  [
    'deleted text beside marked punctuation',
    '<p><del>$20</del><b>$15</b> <b>a!</b><del>b</del>',
    '~~\\$20~~\\$15 a!~~b~~',
  ],
  [
    'drawings divide words, but not from punctuation',
    '<p><a href="/a">A</a><svg></svg><a href="/b"><i><svg></svg></i>B<svg></svg></a>.',
    '[A](https://site.test/a) [B](https://site.test/b).',
  ],
  [
    'headings in a table with cells for headings, and an escaped pipe, which is no code in a table',
    '<table><tr><th><h3>a</h3><th>b<tr><td><code>c\\|d</code><td>e</table>',
    '| a | b |\n| - | - |\n| c\\\\\\|d | e |',
  ],
  ['text directly in a list', '<ul>a<li>b<li>c</li>d</ul>', '- a\n- b\n- c\n\n  d'],
  ['empty lines in a paragraph divide it', '<p>a<br><br><br>b<br>c', 'a\n\nb\\\nc'],
  ['two breaks divide paragraphs', 'a<br><br>b', 'a\n\nb'],
  [
    'scripts, styles and forms are no text',
    '<p>a<script>x</script><style>y</style><select><option>z</select><textarea>t</textarea>',
    'a',
  ],
];
for (const [name, html, wanted] of CASES)
  test(`Markdown: ${name}`, (t) => {
    t.is(markdown(html), wanted);
  });

test('Markdown takes time in proportion to the page', (t) => {
  for (const unit of [
    '*',
    '<b>a',
    '<a href=x>b',
    '<ul><li>',
    '<blockquote>',
    '<table><tr><td>',
    '$x',
    '<div>a',
    '[',
  ]) {
    const text = markdown(unit.repeat(20_000));
    t.true(text.length < 20_000 * 40, unit);
  }
});

const many = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => make(index)).join('');
const LONG: [name: string, html: string][] = [
  [
    'paragraphs',
    many(400, (index) => `<h2>Part ${index}</h2><p>The <b>boats</b> of day ${index} leave.</p><hr>`),
  ],
  [
    'a list',
    `<ul>${many(400, (index) => `<li><a href="/${index}">Boat ${index}</a><p>It leaves.</p></li>`)}</ul>`,
  ],
  [
    'a list with a rule',
    `<ul>${many(400, (index) => `<li>${index === 399 ? '<hr>' : ''}Boat ${index}</li>`)}</ul>`,
  ],
  [
    'nested lists',
    `<ol>${many(99, (index) => `<li>Pier ${index}<ul>${many(9, (at) => `<li>Boat ${at}</li>`)}</ul></li>`)}</ol>`,
  ],
  ['a table', `<table>${many(400, (index) => `<tr><td>${index}<td>${'x'.repeat(index)}</tr>`)}</table>`],
  [
    'a link with a heading at its end',
    `<a href="/">${many(400, (index) => `<p>Boat ${index} leaves.</p>`)}<h2>Boats</h2></a>`,
  ],
  ['emoji', many(400, () => `<p>${'⛵🛥'.repeat(9)}</p>`)],
  ['code', many(99, (index) => `<pre>${`\n\n  let boat = ${index};`.repeat(9)}</pre>`)],
  ['one line', many(900, (index) => `<b>Boat ${index}</b> leaves.<br><br>`)],
];
for (const [name, html] of LONG)
  test(`the beginning of a long page is that of its whole Markdown: ${name}`, (t) => {
    const limit = 3000;
    const whole = [...markdown(html)];
    const part = [...markdown(html, limit)];
    t.true(whole.length > limit + 100);
    t.is(part.slice(0, limit + 100).join(''), whole.slice(0, limit + 100).join(''));
  });
test('the rest of a long page is not read', (t) => {
  const html = many(9000, (index) => `<p>Boat ${index} leaves.</p>`);
  t.true(markdown(html, 3000).length < markdown(html).length / 10);
});
