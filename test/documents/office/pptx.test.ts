// Tests presentations: slides, lists, tables, diagrams, notes, and skipped placeholders.

import { describe, expect, test } from "bun:test";
import { readPptx } from "../../../src/documents/office/pptx.ts";
import { pptx, textOf, xml } from "./office-file.ts";

const run = (text: string, properties = "") => `<a:r><a:rPr ${properties}/><a:t>${text}</a:t></a:r>`;
const paragraph = (text: string, properties = "<a:pPr/>") => `<a:p>${properties}${run(text)}</a:p>`;
const shape = (placeholder: string | null, ...paragraphs: string[]) =>
  `<p:sp><p:nvSpPr><p:nvPr>${placeholder === null ? "" : `<p:ph ${placeholder}/>`}</p:nvPr></p:nvSpPr><p:txBody><a:bodyPr/><a:lstStyle/>${paragraphs.join("")}</p:txBody></p:sp>`;
const title = (text: string) => shape('type="title"', paragraph(text));
const read = async (...slides: string[]) => textOf(await readPptx(pptx(slides.map((content) => ({ content })))));

describe("a presentation", () => {
  test("has slides in presentation order, each with title and mark", async () => {
    const outcome = await readPptx(
      pptx([
        { content: shape(null, paragraph("Text 🎉")) + title("First") },
        { content: "<p:pic/>" },
        { content: shape('type="ctrTitle"', `<a:p>${run("Two")}<a:br/>${run("lines")}</a:p>`) },
        { content: shape(null, paragraph("Untitled")) },
      ]),
    );
    const text = textOf(outcome);
    expect(text).toBe("## First\n\nText 🎉\n\n## Two lines\n\n## Slide 4\n\nUntitled");
    expect(outcome).toMatchObject({
      marks: [
        { at: 0, slide: 1 },
        { at: text.indexOf("## Two"), slide: 3 },
        { at: text.indexOf("## Slide 4"), slide: 4 },
      ],
    });
  });

  test("has lists with levels and numbers, and no slide numbers, dates and footers", async () => {
    const numbered = (text: string) =>
      paragraph(text, '<a:pPr><a:buAutoNum type="alphaLcParenR" startAt="2"/></a:pPr>');
    const text = await read(
      title("T") +
        shape(
          'idx="1"',
          paragraph("Intro", "<a:pPr><a:buNone/></a:pPr>"),
          paragraph("Point"),
          paragraph("Below", '<a:pPr lvl="1"/>'),
          paragraph(" "),
          numbered("one"),
          numbered("two"),
        ) +
        shape('type="sldNum" idx="12"', paragraph("7")) +
        shape('type="ftr" idx="11"', paragraph("Confidential")) +
        shape('type="dt" idx="10"', paragraph("1 May")),
    );
    expect(text).toBe("## T\n\nIntro\n\n- Point\n  - Below\n- b) one\n- c) two");
  });

  test("has table rows with column names, grouped shapes, and equations", async () => {
    const cell = (text: string, properties = "") =>
      `<a:tc ${properties}><a:txBody>${paragraph(text)}</a:txBody></a:tc>`;
    const table = `<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tblPr firstRow="1"/><a:tblGrid/>
      <a:tr>${cell("City")}${cell("Spring")}${cell("Autumn")}</a:tr>
      <a:tr>${cell("Bern", 'rowSpan="2"')}${cell("warm")}${cell("cold")}</a:tr>
      <a:tr>${cell("", 'vMerge="1"')}${cell("dry", 'gridSpan="2"')}${cell("", 'hMerge="1"')}</a:tr>
    </a:tbl></a:graphicData></a:graphic></p:graphicFrame>`;
    const equation =
      '<a:p><mc:AlternateContent><mc:Choice Requires="a14"><m:oMath><m:sSub><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sub><m:r><m:t>1</m:t></m:r></m:sub></m:sSub></m:oMath></mc:Choice><mc:Fallback><a:r><a:t>no</a:t></a:r></mc:Fallback></mc:AlternateContent></a:p>';
    const text = await read(
      `<p:grpSp><p:grpSp>${shape(null, paragraph("Deep"))}</p:grpSp></p:grpSp>${table}${shape(null, equation)}`,
    );
    expect(text).toBe(
      "## Slide 1\n\nDeep\n\nCity | Spring | Autumn\nCity: Bern | Spring: warm | Autumn: cold\nCity: Bern | Spring, Autumn: dry\n\nx_1",
    );
  });

  test("has diagrams as nested lists", async () => {
    const point = (id: string, text: string, type = "node") =>
      `<dgm:pt modelId="${id}" type="${type}"><dgm:t>${paragraph(text)}</dgm:t></dgm:pt>`;
    const connection = (from: string, to: string, order: number) =>
      `<dgm:cxn srcId="${from}" destId="${to}" srcOrd="${order}"/>`;
    const diagram = xml(
      "dgm:dataModel",
      `<dgm:ptLst>${point("0", "", "doc")}${point("b", "Second")}${point("a", "First")}${point("c", "Child")}${point("t", "arrow", "parTrans")}${point("l", "Loose")}</dgm:ptLst>
       <dgm:cxnLst>${connection("0", "a", 0)}${connection("0", "b", 1)}${connection("a", "c", 0)}${connection("c", "a", 0)}</dgm:cxnLst>`,
    );
    const slide = {
      content: `${title("T")}<p:graphicFrame><a:graphic><a:graphicData><dgm:relIds r:dm="d1"/></a:graphicData></a:graphic></p:graphicFrame>`,
      related: [["d1", "diagramData", "../diagrams/data1.xml"]] as const,
    };
    const text = textOf(await readPptx(pptx([slide], { "diagrams/data1.xml": diagram })));
    expect(text).toBe("## T\n\n- First\n  - Child\n- Second\n- Loose");
  });

  test("has speaker notes and comments of both kinds, with authors", async () => {
    const notes = `<p:cSld><p:spTree>${shape('type="sldImg"')}${shape('type="body"', paragraph("Say hello."), paragraph("Smile."))}${shape('type="sldNum"', paragraph("3"))}</p:spTree></p:cSld>`;
    const slide = {
      content: title("T"),
      related: [
        ["n", "notesSlide", "../notesSlides/notes1.xml"],
        ["c", "comments", "../comments/comment1.xml"],
        ["m", "comments", "../comments/modern1.xml"],
      ] as const,
    };
    const text = textOf(
      await readPptx(
        pptx([slide], {
          "notesSlides/notes1.xml": xml("p:notes", notes),
          "commentAuthors.xml": xml("p:cmAuthorLst", '<p:cmAuthor id="0" name="Ada"/>'),
          "authors.xml": xml("p188:authorLst", '<p188:author id="{2}" name="Grace"/>'),
          "comments/comment1.xml": xml("p:cmLst", '<p:cm authorId="0"><p:text>Too long</p:text></p:cm>'),
          "comments/modern1.xml": xml(
            "p188:cmLst",
            `<p188:cm authorId="{2}"><p188:replyLst><p188:reply authorId="{3}"><p188:txBody>${paragraph("No")}</p188:txBody></p188:reply></p188:replyLst><p188:txBody>${paragraph("Cut it?")}</p188:txBody></p188:cm>`,
          ),
        }),
      ),
    );
    expect(text).toBe(
      "## T\n\n[comment by Ada: Too long]\n[comment by Grace: Cut it?]\n[comment: No]\n\n[notes: Say hello.\nSmile.]",
    );
  });
});
