// Reads real HTML pages and checks that their text contains expected excerpts.

import { describe, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { HTML } from "../../src/documents/html/format.ts";
import { readFileText } from "../../src/documents/read-file.ts";
import { ReadFailure } from "../../src/ports/document-reader.ts";
import { HAS_REAL_DOCUMENTS, REAL_DOCUMENTS, SKIP_REASON } from "./real-documents.ts";

async function read(name: string): Promise<{ text: string; title: string | null }> {
  const path = join(REAL_DOCUMENTS, name);
  const file = { path, bytes: statSync(path).size, filename: name, mediaType: HTML.mediaType };
  const document = await readFileText(file);
  if (document instanceof ReadFailure) throw document;
  return { text: document.pieces.join(""), title: document.title };
}

interface Page {
  readonly title: string | null;
  /** Parts of the page's text, in the order of the text. */
  readonly expected: readonly string[];
  /** Texts around the content that must be left out: menus, scripts, reference marks. */
  readonly unexpected: readonly string[];
}

const PAGES: Readonly<Record<string, Page>> = {
  "normal/docling__html_code_snippets.html": {
    title: "Code snippets in HTML",
    expected: [
      "# Code snippets\n\nThe Pythagorean theorem can be written as an equation relating the lengths of the sides a, b and the hypotenuse c.",
      'for example:\n\n```\nfrom docling.document_converter import DocumentConverter\n\nsource = "https://arxiv.org/pdf/2408.09869"\n',
      "print(result.document.export_to_markdown())\n```",
      "- Use the docling-tools models download utility:\n- Alternatively, models can be programmatically downloaded using docling.utils.model_downloader.download_models().",
      "            $ docling-tools models download-hf-repo ds4sd/SmolDocling-256M-preview",
    ],
    unexpected: ["$ docling-tools\n", "charset"],
  },
  "normal/docling__html_rich_table_cells.html": {
    title: "Rich Table Cells in HTML",
    expected: [
      "Basic duck facts\n\nName | Habitat | Comment\nName: Wood Duck | Comment: Often seen near ponds.",
      "Name: Goose (not a duck!) | Habitat: Water & wetlands | Comment: Large, loud, noisy,",
      "Name: Teal | Habitat: Pond; Marsh; Riverbank | Comment: Fly south in winter; Build nest on ground",
      "Genus: Oxyura (Benthic ducks) | Species: Wigee, Banded Water‑screw",
      "Swim | Gracefully glide on H2O surfaces.",
      "Type: Long | Sound: “quaaaaaack”",
      "Name: White-headed duck | Description: A small diving duck some 45 cm (18 in) long. | Image: White-headed duck thumbnail",
    ],
    unexpected: ["border-collapse", "empty cell", "upload.wikimedia.org"],
  },
  "normal/docling__wiki_duck.html": {
    title: "Duck",
    expected: [
      "# Duck",
      "This article is about the bird. For duck as a food, see Duck as food.",
      "Kingdom: Animalia\nPhylum: Chordata",
      "Duck is the common name for numerous species of waterfowl in the family Anatidae. Ducks are generally smaller and shorter-necked than swans and geese,",
      "## Etymology",
      "A male is called a drake and the female is called a duck, or in ornithology a hen.",
      "### Feeding\n\n",
      "A few specialized species such as the mergansers are adapted to catch and swallow large fish.",
      "- American Ornithologists' Union (1998). Checklist of North American Birds (PDF). Washington, DC:",
    ],
    unexpected: [
      "Jump to content",
      "Create account",
      "Afrikaans",
      "[edit]",
      "[1]",
      "Privacy policy",
      "RLCONF",
      "mw-parser-output",
    ],
  },
  "normal/markitdown__test_blog.html": {
    title: "Does Model and Inference Parameter Matter in LLM Applications? - A Case Study…",
    expected: [
      "# Does Model and Inference Parameter Matter in LLM Applications? - A Case Study for MATH",
      "- AutoGen can help with model selection, parameter tuning, and cost-saving in LLM applications.",
      "## Experiment Setup\n\nWe use AutoGen to select between the following models",
      "- n: The number of responses to generate. We search for the optimal n in the range of [1, 100].",
      "However, the selected model changes on level 4 Algebra.",
      "## For Further Reading\n\n- Research paper about the tuning technique\n- Documentation about inference tuning",
    ],
    unexpected: ["Skip to main content", "Recent posts", "localStorage", "Copyright", "Newer Post", "Edit this page"],
  },
  "normal/markitdown__test_serp.html": {
    title: "Microsoft wikipedia - Search",
    expected: [
      "## Microsoft - Wikipedia",
      "Microsoft Corporation is an American multinational corporation and technology company headquartered in Redmond, Washington.",
      "## History of Microsoft - Wikipedia",
      "  - Initial release: November 20, 1985; 37 years ago",
      "Microsoft was founded by Bill Gates and Paul Allen on April 4, 1975,",
    ],
    unexpected: ["Skip to content", "function(", "sj_evt", "_ge("],
  },
  "normal/markitdown__test_wikipedia.html": {
    title: "Microsoft",
    expected: [
      "# Microsoft",
      "Company type: Public",
      "Founded: April 4, 1975 in Albuquerque, New Mexico, U.S.",
      "Headquarters: One Microsoft Way, Redmond, Washington",
      "Microsoft was founded by Bill Gates and Paul Allen on April 4, 1975, to develop and sell BASIC interpreters for the Altair 8800.",
      "## History",
      "### 1985–1994: Windows and Office",
      "On July 27, 1994, the Department of Justice's Antitrust Division filed a competitive impact statement",
      "## External links",
    ],
    unexpected: ["Jump to content", "Create account", "Afrikaans", "[edit]", "[1]", "Privacy policy", "RLCONF"],
  },
  "normal/unstructured__fake-html.html": {
    title: null,
    expected: [
      "# My First Heading\n\n## My Second Heading\n\nMy first paragraph. lorem ipsum dolor set amet.",
      "- A test list\n  - With sub-bullets!\n  - And another\n- Back at the root",
      "### A Third Heading\n\nColumn 1 | Column 2\nColumn 1: Row 1, Cell 1 | Column 2: Row 1, Cell 2",
    ],
    unexpected: ["<"],
  },
  "encoding/unstructured__fake-html-cp1252.html": {
    title: null,
    expected: [
      "Die schöne Frau hat einen Kaffee mit Kuchen gegessen.",
      "Der Preis betrug 15,50 €.\nL'été était très chaud cette année.",
      'O João comprou um café por 2,50 €. Ele disse: "Está ótimo!" e sorriu.',
    ],
    unexpected: ["<", "\ufffd"],
  },
  "encoding/unstructured__example-steelJIS-datasheet-utf-16.html": {
    title: "SNB22-3 - SteelJIS - Datasheet, Chemical composition, Standards and Properties",
    expected: [
      "# SteelJIS: Japanese Steels and Alloys",
      "## SNB22-3 Chemical composition, standards and properties\n\nGrade: SNB22-3\nClassification: Structural steel Chromium molybdenum steel",
      "Chemical composition 成分 % of grade SNB22-3",
      "C: 0.39 - 0.46 | Si: 0.2 - 0.35 | Mn: 0.65 - 1.1 | P: max 0.025 | S: max 0.025",
      "Assortment: Bars | Yield point or Proof stress: 890 | Tensile strength: 1000 | Elongation: 12 | Reduction of area: 40",
      "• Tensile strength / Zugfestigkeit / Resistance a la traction",
    ],
    unexpected: ["adsbygoogle", "document.write", "facebook-jssdk", "addLink"],
  },
  "malformed/tika__testHTMLBadScript.html": {
    title: null,
    expected: ["This is a test."],
    unexpected: ["cool script"],
  },
};

describe.skipIf(!HAS_REAL_DOCUMENTS)(`real pages${SKIP_REASON}`, () => {
  for (const [name, { title, expected, unexpected }] of Object.entries(PAGES)) {
    test(`${name} has the expected text, and nothing from around the content`, async () => {
      const page = await read(name);
      expect(page.title).toBe(title);
      let from = 0;
      for (const each of expected) {
        const at = page.text.indexOf(each, from);
        if (at === -1) expect(page.text.slice(from)).toContain(each);
        from = at + each.length;
      }
      for (const each of unexpected) expect(page.text).not.toContain(each);
    });
  }
});
