// Tests HTML pages: the content becomes Markdown, what surrounds it is left out, and broken and hostile pages are read.

import { describe, expect, test } from "bun:test";
import { READING_LIMITS } from "../../src/documents/budget.ts";
import { readHtml } from "../../src/documents/html/read-html.ts";
import { ReadFailure } from "../../src/ports/document-reader.ts";

function read(...pieces: string[]) {
  const document = readHtml(pieces);
  if (document instanceof ReadFailure) throw document;
  return { text: document.pieces.join(""), title: document.title };
}
const textOf = (...pieces: string[]) => read(...pieces).text;
const failureOf = (page: string, limits = READING_LIMITS) => {
  const outcome = readHtml([page], limits);
  return outcome instanceof ReadFailure ? outcome.message : "it was read";
};

type Cases = Readonly<Record<string, readonly [page: string, text: string]>>;
/** Defines one test per case. */
function testEach(cases: Cases) {
  for (const [name, [page, text]] of Object.entries(cases)) test(name, () => expect(textOf(page)).toBe(text));
}

describe("text", () => {
  testEach({
    "headings have levels": ["<h1>A</h1><h2>B <em>b</em></h2><h6>C</h6>", "# A\n\n## B b\n\n###### C"],
    "elements with the role of a heading are headings": [
      '<div role=heading aria-level=3>A</div><div role="heading">B</div>',
      "### A\n\n## B",
    ],
    "a heading is one line": ["<h2>A<br>b<div>c</div></h2>", "## A b c"],
    "empty headings are left out": ["<h2> </h2><h2><img src=x></h2><p>A", "A"],
    "paragraphs are separate, with or without end tags": [
      "<p>One<p>Two</p>Three<div>Four</div>",
      "One\n\nTwo\n\nThree\n\nFour",
    ],
    "white space is collapsed as in a browser": [
      "<p>  a \n\t b<b> c</b> <i> d </i>, e&nbsp;&nbsp;f </p>",
      "a b c d , e f",
    ],
    "line breaks begin lines": ["<p>a<br>b <br/> c<br><br><br>d</p>", "a\nb\nc\n\nd"],
    "invisible characters are removed, except those that belong to words": [
      "<p>Do\u00adnau&shy;dampf\u200bschiff\ufeff می\u200cخواهم 👩\u200d🚀",
      "Donaudampfschiff می\u200cخواهم 👩\u200d🚀",
    ],
    "character references are resolved, including invalid ones": [
      "<p>&lt;b&gt; &amp;amp; &eacute; &#x20AC; &#8364 &#0; &#x110000; &#xD800; &nosuch; AT&T &copy 2026",
      "<b> &amp; é € € � � � &nosuch; AT&T © 2026",
    ],
    "links are written as their text, or the text of their pictures": [
      '<p>See <a href="https://example.org">the page</a>, <a href=x><img alt="A map"></a> and <a href=y>a <img alt=icon>b</a>.',
      "See the page, A map and a b.",
    ],
    "adjacent links are separate words": ["<p><a href=1>one</a><a href=2>two</a>", "one two"],
    "pictures are written as alternative text, unless it is a file name": [
      '<p>a<img alt="a cat">b</p><img alt="IMG_001.jpg"><img alt=""><img>',
      "a a cat b",
    ],
    "captions of figures are paragraphs": [
      '<figure><img alt="A chart"><figcaption>Sales by year</figcaption></figure>',
      "A chart\n\nSales by year",
    ],
    "quotations are marked": [
      "<blockquote><p>a<br>b</p><p>c</p><h2>d</h2></blockquote><p><q>e</q>",
      "> a\n> b\n\n> c\n\n## d\n\n“e”",
    ],
    "collapsed details are written": [
      "<details><summary>Why?</summary><p>Because.</details><h3><button>More?</button></h3><p hidden=until-found>Yes.",
      "Why?\n\nBecause.\n\n### More?\n\nYes.",
    ],
    "pronunciation follows its word": ["<p><ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>を", "漢字(かんじ)を"],
    "exponents and marks of notes are marked": [
      '<p>10<sup>6</sup> m<sup>-2</sup>, H<sub>2</sub>O, 1<sup>st</sup>, so<sup><a href="#fn1">1</a></sup>.<p><sup>1</sup> Note',
      "10^6 m^-2, H2O, 1st, so[1].\n\n1 Note",
    ],
    "formulas are written as TeX, once": [
      '<p>So <span class="mwe-math-element"><span class="mwe-math-mathml-inline mwe-math-mathml-a11y" style="display: none;"><math alttext="{\\displaystyle E=mc^{2}}"><mi>E</mi></math></span><img alt="{\\displaystyle E=mc^{2}}" aria-hidden="true"></span>. <math><mi>x</mi><mo>=</mo><mn>1</mn><annotation>TeX</annotation></math>',
      "So E=mc^{2}. x=1",
    ],
    "permalinks in headings are removed": [
      '<h2>Setup<a href="#setup">¶</a></h2><h2>Use<a href="#use">#</a></h2><p>C <a href=x>#</a>',
      "## Setup\n\n## Use\n\nC #",
    ],
    "abbreviations and inserted words are text, deleted ones are not": [
      "<p><abbr title=World>WHO</abbr> <del>a</del><ins>b</ins>",
      "WHO b",
    ],
    "a former price is deleted, however it is struck out": [
      '<p>A <del>49 €</del> <ins>39 €</ins><p>B <s>49 €</s> 39 €<p>C <strike>$9</strike> $8<p>D <span style="color:red;text-decoration: line-through">10</span> 7<p><del datetime=2026>E<br>x</del> Now 5',
      "A 39 €\n\nB 39 €\n\nC $8\n\nD 7\n\nNow 5",
    ],
    "deleted blocks, items and rows are left out": [
      "<ul><li><del>old</del><li>new</ul><del><p>gone</p></del><table><tr><td>a<td><s>1</s> 2</table>",
      "- new\n\na | 2",
    ],
    "underlined and small words stay": ["<p><u>a</u> <small>b</small> <mark>c</mark>", "a b c"],
    "a text that is struck out completely is the text": ["<p><s>All of this page.</s>", "All of this page."],
    "labels of fields are apart": [
      "<form><label>Name</label><input><label>Street</label><input><label for=x>Zip</label>: <input id=x></form>",
      "Name Street Zip:",
    ],
    "labels around fields are apart": [
      "<label>Red<input type=radio></label><label>Blue<input type=radio></label>",
      "Red ☐ Blue ☐",
    ],
    "labels of buttons within a text belong to it": [
      "<p>Press <button>Save</button> and then <button type=button><b>Close</b></button>.<ul><li><button>Next</button> opens the page.</ul>",
      "Press Save and then Close.\n\n- Next opens the page.",
    ],
    "buttons alone are no text": [
      "<p>a<p><button>Share</button><div><button>Print</button><button>Like</button></div>",
      "a",
    ],
    "tabs and their hidden panels are read": [
      "<div role=tablist><button role=tab aria-controls=p1>Overview</button><button role=tab aria-controls=p2>Delivery</button></div><div role=tabpanel id=p1>It is blue.</div><div role=tabpanel id=p2 hidden>Three days.</div>",
      "Overview Delivery\n\nIt is blue.\n\nThree days.",
    ],
    "panels may be hidden in other ways": [
      '<div role=tabpanel aria-hidden=true>a</div><div class="tab-pane fade" style="display:none">b</div><div class=accordion-content hidden>c</div><section role=region aria-labelledby=h hidden>d</section>',
      "a\n\nb\n\nc\n\nd",
    ],
    "a panel may only be named by its tab": [
      "<ul role=tablist><li role=tab aria-controls=x>Size</ul><div id=x hidden>Two metres</div><div id=y hidden>no</div>",
      "- Size\n\nTwo metres",
    ],
    "collapsed parts are read": [
      "<h3><button aria-expanded=false aria-controls=c1>Parking</button></h3><div id=c1 hidden>Lot P4 is free.</div>",
      "### Parking\n\nLot P4 is free.",
    ],
    "collapsed parts of Bootstrap are read": [
      '<p><a data-bs-toggle=collapse href="#c2">Fees</a><div id=c2 style="display:none">12.50</div><p><button data-toggle=collapse data-target="#c3">More</button><div id=c3 hidden>Pay at the desk.</div>',
      "Fees\n\n12.50\n\nPay at the desk.",
    ],
    "what a menu or a switch shows stays hidden": [
      "<p>a<button aria-haspopup=true aria-expanded=false aria-controls=m>Menu</button><div id=m hidden>no</div><p>b<button aria-controls=n>x</button><div id=n hidden>no</div>",
      "a Menu\n\nb x",
    ],
    "fields show their values": [
      "<p><label>Size</label><select><option>S</option><option selected>M</option></select> <label>Colour</label><input value=Olive> <label><input type=checkbox checked> Gift</label> <label><input type=radio> Post</label> <input type=hidden value=no><input type=submit value=no><input type=password value=no>",
      "Size M Colour Olive ☑ Gift ☐ Post",
    ],
    "texts of fields and measures are values": [
      "<p><label>Note</label><textarea>Ring twice</textarea>. Fuel: <meter value=.6>60 %</meter>, done: <progress value=3 max=10>30 %</progress>.",
      "Note Ring twice. Fuel: 60 %, done: 30 %.",
    ],
    "a button of an accordion shows the element behind it": [
      "<button class=accordion>Refunds</button><div class=panel style='display:none'>Within 30 days.</div><button class='btn collapsible'>Post</button><div hidden>Free.</div><div hidden>no</div>",
      "Refunds\n\nWithin 30 days.\n\nPost\n\nFree.",
    ],
    "tables of generic elements are tables": [
      "<div role=table><div role=rowgroup><div role=row><span role=columnheader>Name</span><span role=columnheader>Age</span></div></div><div role=row><span role=cell>Liv</span><span role=cell>44</span></div></div>",
      "Name | Age\nName: Liv | Age: 44",
    ],
    "names and values of properties are apart": [
      "<div><span class=label>Height</span><span class=value>190 cm</span></div><p><span class=drop>T</span><span>he</span> end",
      "Height 190 cm\n\nThe end",
    ],
    "deleted text stays out of a page with little content": [
      "<p>Now <del>everything that was said in the former text</del> 39 €",
      "Now 39 €",
    ],
    "tasks are done or open": [
      "<ul><li><input type=checkbox checked> Paint<li><input type=checkbox> Sand</ul><input type=checkbox id=menu><p>End",
      "- ☑ Paint\n- ☐ Sand\n\nEnd",
    ],
    "styles raise and lower text as elements do": [
      '<p>4.7 × 10<span style="vertical-align: super; font-size:70%">6</span>, 1997<span class="superscript">12</span>, x<span style="vertical-align:sub">i</span>, m<font style="vertical-align:-0.3em">1</font>',
      "4.7 × 10^6, 1997[12], x_i, m_1",
    ],
    "other styles do not": [
      '<p>10<span style="vertical-align: middle">6</span>, 10<span style="vertical-align:0px">6</span>, 10<span class="supply">6</span>',
      "106, 106, 106",
    ],
    "tabs in a navigation element are read": [
      "<main><nav><a href=x>Home</a><div role=tablist><button role=tab>Monday</button><button role=tab>Tuesday</button></div><a href=y>End</a></nav><div role=tabpanel>a</div></main>",
      "Monday Tuesday\n\na",
    ],
    "what is hidden inside a panel, and menus and dialogs, stay hidden": [
      "<div role=tabpanel hidden>All of this is the content.<span hidden>no</span></div><ul role=menu aria-labelledby=b hidden><li>no</ul><div role=dialog aria-labelledby=t hidden>no</div><div class=modal aria-hidden=true>no</div>",
      "All of this is the content.",
    ],
    "a horizontal rule only separates paragraphs": ["<p>a<hr>b", "a\n\nb"],
    "text after CDATA markers is text": ["<p>a <![CDATA[b & c]]> d", "a b & c d"],
  });
});

describe("lists", () => {
  testEach({
    "items have markers and levels": ["<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c"],
    "directly nested lists are levels": ["<ul><li>a<ul><ul><li>b</ul></ul></ul>", "- a\n    - b"],
    "numbers are counted as the browser shows them": [
      "<ol start=3><li>a<li value=7>b<li>c</ol><ol reversed start=2><li>d<li>e</ol><ol type=a><li>f</ol>",
      "3. a\n7. b\n8. c\n2. d\n1. e\n- a. f",
    ],
    "further paragraphs belong to their item": [
      "<ul><li><p>a</p><p>b<br>c</p></li><li>d</li></ul>",
      "- a\n  b\n  c\n- d",
    ],
    "code and headings in items are separate blocks": [
      "<ul><li>a<pre>b</pre>c</li><li><h3>d</h3><p>e</li></ul>",
      "- a\n\n```\nb\n```\n\nc\n\n### d\n\ne",
    ],
    "definitions begin with their terms": [
      "<dl><dt>CPU<dd>Computes.<dd>Gets hot.<dt>RAM:<dt>Memory<dd>Remembers.<p>For a while.</dl>",
      "- CPU: Computes.\n- CPU: Gets hot.\n- RAM, Memory: Remembers.\n  For a while.",
    ],
    "definitions without terms and terms without definitions are paragraphs": [
      "<dl><dd>a</dl><dl><dt>b</dl>",
      "a\n\nb",
    ],
    "items without a list are items": ["<li>a<li>b", "- a\n- b"],
  });
});

describe("tables", () => {
  const row = (...cells: string[]) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
  testEach({
    "rows have column names": [
      "<table><caption>Ducks</caption><thead><tr><th>Name<th>Food</thead><tbody><tr><td>Teal<td>Seeds<tr><td>Eider<td></table>",
      "Ducks\n\nName | Food\nName: Teal | Food: Seeds\nName: Eider",
    ],
    "names that span columns come first": [
      "<table><tr><th rowspan=2>Site<th colspan=2>2025<tr><th>Q1<th>Q2<tr><td>Oslo<td>1<td>2</table>",
      "Site | 2025\nSite | Q1 | Q2\nSite: Oslo | 2025 Q1: 1 | 2025 Q2: 2",
    ],
    "cells with a row span are repeated in their rows": [
      `<table><tr><th>A<th>B<th>C</tr><tr><td rowspan=2>1</td><td>2<td>3</tr>${row("4", "5")}</table>`,
      "A | B | C\nA: 1 | B: 2 | C: 3\nA: 1 | B: 4 | C: 5",
    ],
    "a heading within a table has no column name": [
      `<table><tr><th>A<th>B</tr>${row("1", "2")}${row("3", "4")}<tr><td colspan=2>Later</tr>${row("5", "6")}</table>`,
      "A | B\nA: 1 | B: 2\nA: 3 | B: 4\nLater\nA: 5 | B: 6",
    ],
    "a row of a name and a value is one line": [
      "<table><tr><th colspan=2>Norway<tr><th>Capital<td>Oslo<tr><td>Area:<td>385,207 km<sup>2</sup></table>",
      "Norway\nCapital: Oslo\nArea: 385,207 km^2",
    ],
    "row headers do not replace column headers": [
      "<table><tr><th>Name<th>Food<tr><th>Teal<td>Seeds</table><table><tr><th>A<th>B<th>C<tr><th>a<td><td>c</table>",
      "Name | Food\nName: Teal | Food: Seeds\n\nA | B | C\nA: a | C: c",
    ],
    "tables with borders have headers in the first row, others only with a sign of it": [
      `<table border=1>${row("A", "B", "C")}${row("x", "y", "z")}</table><table>${row("D", "E", "F")}${row("x", "y", "z")}</table><table>${row("<b>G</b>", "<b>H</b>")}${row("x", "y")}</table>`,
      "A | B | C\nA: x | B: y | C: z\n\nD | E | F\nx | y | z\n\nG | H\nG: x | H: y",
    ],
    "short lists in cells are on the line of their row": [
      "<table><tr><th>A<th>B<tr><td><ul><li>x<li>y</ul><td>a<br>b</table>",
      "A | B\nA: x; y | B: a b",
    ],
    "layout tables are written as text": [
      "<table><tr><td><h1>A</h1><p>b</td></tr><tr><td><table><tr><td>c</table></table>",
      "# A\n\nb\n\nc",
    ],
    "nested tables are written after the row": [
      "<table><tr><th>A<th>B<tr><td>1<td>2<tr><td>3<td><table><tr><th>C<th>D<tr><td>4<td>5</table></table>",
      "A | B\nA: 1 | B: 2\n\nA: 3\n\nB:\n\nC | D\nC: 4 | D: 5",
    ],
    "misplaced end tags in tables are ignored": [
      "<center><table></center><tr><td>a</div><td>b</table></center>c",
      "a | b\n\nc",
    ],
    "cells outside tables are text": ["<tr><td>a<td>b</tr>", "a\n\nb"],
  });
});

describe("code", () => {
  testEach({
    "keeps its layout": [
      '<pre class="x language-python"><code>\ndef f():\n\treturn 1  \n\n\n# <b>end</b>&lt;\n</code></pre>',
      "```python\ndef f():\n\treturn 1\n\n\n# end<\n```",
    ],
    "may have elements per line": [
      "<pre><code class=lang-ts><span>a</span><br><span>b</span></code></pre><pre><div>c</div><div>d</div></pre>",
      "```ts\na\nb\n```\n\n```\nc\nd\n```",
    ],
    "may contain a fence": ["<pre>```\na\n```</pre>", "````\n```\na\n```\n````"],
    "is text within a sentence": ["<p>Call <code>f( )</code> or <kbd>Ctrl</kbd>.", "Call f( ) or Ctrl."],
    "of plaintext is the rest of the page": [
      "<p>a<plaintext>b </plaintext> <p>c",
      "a\n\n```\nb </plaintext> <p>c\n```",
    ],
  });
});

describe("skipped elements", () => {
  const kept = "<p>A sentence that is the content of this page.";
  for (const dropped of [
    "<script>gone()</script>",
    "<style>gone {}</style>",
    "<noscript>gone</noscript>",
    "<template><p>gone</template>",
    "<svg><title>gone</title><text>gone</text><style>gone</style></svg>",
    "<nav><a href=x>gone</a></nav>",
    "<header>gone</header>",
    "<footer>gone</footer>",
    "<aside>gone</aside>",
    "<button>gone</button>",
    "<div><button>gone</button> <button>gone</button></div>",
    "<form><p><button>gone</button><select><option>gone</select></form>",
    "<div hidden>gone<div>gone</div></div>",
    "<span aria-hidden=true>gone</span>",
    '<div style="color:red; DISPLAY : none !important">gone</div>',
    "<div role=navigation>gone</div>",
    "<div role=banner>gone</div>",
    "<div role=contentinfo>gone</div>",
    "<div role=search>gone</div>",
    '<div id="onetrust-consent-sdk">gone</div>',
    '<div class="a cookie-banner">gone</div>',
    '<a class="skip-link" href="#main">gone</a>',
    '<span class="mw-editsection">[gone]</span>',
    '<sup class="reference"><a href="#cite_note-1">[gone]</a></sup>',
    "<dialog>gone</dialog>",
    "<iframe>gone</iframe>",
    "<video>gone</video>",
    "<!-- gone -->",
    "<?php gone ?>",
    '<img alt="gone" hidden>',
  ]) {
    test(dropped, () => {
      expect(textOf(`${dropped}${kept}</p>${dropped}`)).toBe("A sentence that is the content of this page.");
    });
  }

  testEach({
    "the main heading stays, even in a header": [
      "<header><a href=/>Site</a><h1>The <b>title</b></h1><p>x</header><p>And the text.",
      "# The title\n\nAnd the text.",
    ],
    "headers, footers and asides inside the content stay": [
      "<article><header><h1>A</h1><p>b</p></header><aside>Note: c</aside><footer>d</footer></article>",
      "# A\n\nb\n\nNote: c\n\nd",
    ],
    "everything is read if there is no content": ["<nav>Only <a href=x>this</a>.</nav>", "Only this."],
    "everything is read if there is little content": [
      "<p>Hi.</p><div hidden>All that this page has to say stands in a part that is shown later.</div>",
      "Hi.\n\nAll that this page has to say stands in a part that is shown later.",
    ],
    "choices of a form do not count as content": [
      `<p>Short.<select>${"<option>A country".repeat(50)}</select>`,
      "Short.",
    ],
    "navigation links do not count as content": [
      `<nav>${"<a href=x>Another page of this site</a> ".repeat(50)}</nav><p>Short.`,
      "Short.",
    ],
  });
});

describe("titles", () => {
  const titleOf = (page: string) => read(`${page}<p>text`).title;
  test("is the text of the title element", () => expect(titleOf("<title> A &amp;\n B </title>")).toBe("A & B"));
  test("is null if the page has none", () => expect(titleOf("<h1>A</h1>")).toBeNull());
  test("is null if it is empty", () => expect(titleOf("<title> </title>")).toBeNull());
  test("is the main heading if the title also has the name of the site", () => {
    expect(titleOf("<title>How to swim - Example Site</title><h1>How to swim</h1>")).toBe("How to swim");
    expect(titleOf("<title>Example | Ducks</title><h1>ducks</h1>")).toBe("ducks");
  });
  test("is not cut in the middle of a phrase", () => {
    expect(titleOf("<title>How to swim in the lake</title><h1>How to swim</h1>")).toBe("How to swim in the lake");
  });
  test("is not the title of an SVG drawing", () => {
    expect(titleOf("<svg><title>Icon</title></svg><title>Page</title>")).toBe("Page");
  });
});

describe("broken pages", () => {
  testEach({
    "a script without end ends at the next tag": [
      "<p>a</p><script>var b = 1;\n<p>c</p><style>d</style><p>e",
      "a\n\nc\n\ne",
    ],
    "a title without end ends at the next tag": ["<title>a<p>b", "b"],
    "a comment without end ends at the next >": ["<p>a</p><!-- b ><p>c <!-- d", "a\n\nc"],
    "a quote without end ends with its tag": ['<p>a <a href="b>c</a> d', "a c d"],
    "a tag without end ends at the next tag": ["<scr\n<script>a()</script><p>b", "b"],
    "a drawing without end ends at the next paragraph": ["<svg><g><p>a", "a"],
    "end tags without start tags are ignored": ["</div></b>a</p></table>b</br>c</li>", "a\n\nb\nc"],
    "overlapping elements are nested": ["<b>a<i>b</b>c</i> <a>d<div>e</a>f</div>", "abc d\n\nef"],
    "a less-than sign is text": ["<p>a < b <3 c<", "a < b <3 c<"],
    "NULs are removed and lone surrogates replaced": ["<p>a\0b\ud800c", "ab\ufffdc"],
  });

  test("a page in pieces is read like a whole one", () => {
    const page =
      '<title>T&amp;t</title><p class="x">a &eacute; <b>b</b><!-- c --><script>d</script></p><pre>\r\ne\n f</pre><img alt="g &lt; h">';
    const whole = read(page);
    expect(whole.text).toBe("a é b\n\n```\ne\n f\n```\n\ng < h");
    expect(read(...page)).toEqual(whole);
    for (let at = 1; at < page.length; at++) expect(read(page.slice(0, at), page.slice(at))).toEqual(whole);
  });

  test("a page without text is a failure with a message", () => {
    for (const page of ["", " \n", "<p>", "<script>a</script>", "<p>\u00ad&nbsp;\u200b", "<!--"]) {
      expect(failureOf(page)).toBe("The file holds no text.");
    }
  });
});

describe("hostile pages", () => {
  const many = 100_000;
  const nests: Cases = Object.fromEntries(
    [
      "div",
      "b",
      "ul><li",
      "table><tr><td",
      "blockquote",
      "dl><dd",
      "span hidden",
      "svg",
      "font",
      "sup",
      "a",
      "header",
      "h1",
      "ruby><rt",
      "pre",
      "q",
    ].map((tags) => [`${many} times <${tags}>`, [`${`<${tags}>`.repeat(many)}text`, ""]]),
  );
  for (const [name, [page]] of Object.entries(nests)) {
    test(`${name} is read`, () => expect(textOf(page)).toContain("text"));
  }

  test("elements are opened and closed many times", () => {
    expect(textOf(`${"<div>".repeat(many)}text${"</div>".repeat(many)}<p>more`)).toBe("text\n\nmore");
  });
  test("end tags without start tags", () => {
    expect(textOf(`<div>${"<b>".repeat(many)}<p>${"</i></b></div></td></x>".repeat(many)}text`)).toBe("text");
  });
  test("an attribute of ten megabytes", () => {
    const value = "x ".repeat(5_000_000);
    expect(textOf(`<p class="${value}" title='${value}'>text`)).toBe("text");
    expect(textOf(`<p ${value.slice(0, 1_000_000)}>text`)).toBe("text");
    expect(textOf(`<${value.replaceAll(" ", "x").slice(0, 1_000_000)}>text`)).toBe("text");
  });
  test("megabytes of one character", () => {
    for (const sign of [
      "&",
      "<",
      "a",
      " ",
      "\n",
      "\u00a0",
      "`",
      "#",
      "|",
      "-",
      "\u200b",
      ">",
      "&amp",
      "</",
      "<!",
      "<!--",
      "\ud800",
    ]) {
      const page = `<p>text ${sign.repeat(2_000_000 / sign.length)}`;
      expect(textOf(page).startsWith("text")).toBe(true);
    }
    expect(textOf(`<pre>text\n${" ".repeat(1_000_000)}\n${"`".repeat(1_000_000)}</pre>`)).toContain("text");
  });
  test("scripts, comments and quotes without end, repeated", () => {
    for (const part of ["<script>", "<!-- ", '<a b="', "<title>", "<style>a", "<![CDATA["]) {
      expect(textOf(`<p>text</p>${part.repeat(many)}`)).toStartWith("text");
    }
  });
  test("cells with the largest spans", () => {
    const cell = '<td colspan="1000" rowspan="65534">a';
    const wide = `<table>${`<tr>${cell.repeat(100)}`.repeat(1000)}</table>`;
    expect(failureOf(wide)).toBe("The file holds more than 2,000,000 cells, the limit for a file.");
    const rows = `<table><tr>${"<td rowspan=65534>a".repeat(1000)}${"<tr>".repeat(many)}<tr><td>b`;
    expect(failureOf(rows)).toBe("it was read");
    expect(textOf(`<table><tr>${"<td>".repeat(many)}text</table>`)).toBe("text");
  });
  test("a text that is repeated in each row", () => {
    const page = `<table><tr><td rowspan=0>${"long ".repeat(1_000)}<td>a${"<tr><td>b".repeat(10_000)}</table>`;
    expect(textOf(page).length).toBeLessThan(100_000);
  });
  test("more text than the limit", () => {
    const limits = { ...READING_LIMITS, textUnits: 100 };
    expect(failureOf(`<p>${"a".repeat(100)}`, limits)).toBe("it was read");
    expect(failureOf(`<p>${"a".repeat(101)}`, limits)).toBe(
      "The file holds more than 100 characters of text, the limit for a file.",
    );
  });
});
