// Descriptions of pictures by a language model, through the whole server: real children take the pictures out of files.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { crc32, deflateSync } from "node:zlib";
import { upload } from "../documents/corpus/upload.ts";
import { docx, xml } from "../documents/office/office-file.ts";
import { WORD_PORTS } from "../in-memory/ports.ts";
import { type LlmCall, type LlmStub, startLlm, status, streamed } from "../support/llm.ts";
import { seeded } from "../support/seeded.ts";
import { startService, type TestService } from "../support/service.ts";

/** Timeout of a test: a file starts several child processes. */
const EACH_MS = 120_000;
const SHOWN = "A red bicycle leans on a harbour wall.";

let llm: LlmStub;
let mneme: TestService;
beforeAll(async () => {
  llm = startLlm();
  mneme = await startService({ ports: WORD_PORTS, config: { llmBaseUrl: llm.baseUrl, llmModel: "sees" } });
}, EACH_MS);
afterAll(async () => {
  await mneme.stop();
  await llm.stop();
}, EACH_MS);
beforeEach(async () => {
  llm.forget();
  llm.answer(() => streamed([SHOWN], { prompt: 700, completion: 12 }));
  await setProject({ llm: { vision: true }, smart_ingestion: { enabled: false, daily_token_limit: null }, ocr: "off" });
});

async function setProject(settings: object): Promise<void> {
  const { status: code } = await mneme.call("PUT", "/v1/project", settings);
  expect(code).toBe(200);
}

async function stored(filename: string, bytes: Uint8Array | string) {
  const sent = await upload(mneme, filename, typeof bytes === "string" ? Buffer.from(bytes) : bytes);
  expect(sent.status).toBe(202);
  return (await mneme.settled(sent.body.id)).body;
}

/** A PNG of random colours. */
function png(width: number, height: number): Buffer {
  const chunk = (kind: string, data: Uint8Array) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const framed = Buffer.alloc(body.length + 8);
    framed.writeUInt32BE(data.length, 0);
    framed.set(body, 4);
    framed.writeUInt32BE(crc32(body), body.length + 4);
    return framed;
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const random = seeded(width);
  const rows = Buffer.from(Array.from({ length: (width * 3 + 1) * height }, () => Math.floor(random() * 256)));
  for (let y = 0; y < height; y++) rows[y * (width * 3 + 1)] = 0;
  const signature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", new Uint8Array()),
  ]);
}

const page = (...pictures: readonly Buffer[]) =>
  `<h1>Trip</h1><p>We rode along the coast.</p>${pictures.map((each) => `<img src="data:image/png;base64,${each.toString("base64")}">`).join("")}<p>Then home.</p>`;

/** The pictures that a request shows. */
function picturesOf({ body }: LlmCall): readonly string[] {
  const parts = body.messages.flatMap(({ content }) => (Array.isArray(content) ? (content as unknown[]) : []));
  return parts.flatMap((part) => {
    const { image_url } = part as { readonly image_url?: { readonly url: string } };
    return image_url === undefined ? [] : [image_url.url];
  });
}

describe("a file with pictures", () => {
  test(
    "that is a picture becomes its description",
    async () => {
      const memory = await stored("photo.png", png(300, 200));
      expect(memory).toMatchObject({ status: "completed", content: `[description of a picture: ${SHOWN}]` });
      expect(llm.calls.length).toBe(1);
      const [shown = ""] = picturesOf(llm.calls[0] as LlmCall);
      expect(shown).toStartWith("data:image/jpeg;base64,/9j/");
    },
    EACH_MS,
  );

  test(
    "has their descriptions where they stand",
    async () => {
      const memory = await stored("trip.html", page(png(400, 300)));
      expect(memory.content).toBe(
        `# Trip\n\nWe rode along the coast.\n\n[description of a picture: ${SHOWN}]\n\nThen home.`,
      );
    },
    EACH_MS,
  );

  test(
    "may be a Word document",
    async () => {
      const drawing =
        '<w:p><w:r><w:t>Before</w:t></w:r></w:p><w:p><w:r><w:drawing><wp:inline><a:graphic><a:graphicData><pic:pic><pic:blipFill><a:blip r:embed="rel0"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>';
      const types = xml("Types", "").replace("spreadsheetml/2006/main", "x");
      const file = docx(drawing, { "media/image1.png": png(200, 200) }, { "[Content_Types].xml": types });
      const memory = await stored("report.docx", file);
      expect(memory.content).toContain("Before");
      expect(memory.content).toContain(`[description of a picture: ${SHOWN}]`);
    },
    EACH_MS,
  );

  test(
    "is found by what they show",
    async () => {
      const memory = await stored("coast.html", page(png(120, 120)));
      const { body } = await mneme.call("POST", "/v1/memories/search", {
        query: "red bicycle",
        mode: "hybrid",
        limit: 20,
      });
      expect(body.results.map((each: { memory_id: string }) => each.memory_id)).toContain(memory.id);
    },
    EACH_MS,
  );
});

describe("the model is not called", () => {
  test(
    "for a picture that is too small to show something",
    async () => {
      await stored("icon.html", page(png(40, 40)));
      expect(llm.calls.length).toBe(0);
    },
    EACH_MS,
  );

  test(
    "unless the project wants that",
    async () => {
      await setProject({ llm: { vision: false } });
      const memory = await stored("trip.html", page(png(400, 300)));
      expect(memory.content).toBe("# Trip\n\nWe rode along the coast.\n\nThen home.");
      expect(llm.calls.length).toBe(0);
    },
    EACH_MS,
  );

  test(
    "beyond the tokens of the day, which a warning says",
    async () => {
      await setProject({ smart_ingestion: { daily_token_limit: 1 } });
      const memory = await stored("trip.html", page(png(400, 300), png(401, 300)));
      expect(memory).toMatchObject({ status: "completed" });
      expect(memory.source.warnings).toContain(
        "2 pictures were not described: the project's daily token limit is reached.",
      );
      expect(llm.calls.length).toBe(0);
    },
    EACH_MS,
  );

  test(
    "for more than twenty pictures of a file",
    async () => {
      const memory = await stored("many.html", page(...Array.from({ length: 23 }, (_, at) => png(70 + at, 70))));
      expect(llm.calls.length).toBe(20);
      expect(memory.source.warnings).toContain("3 pictures were not described: at most 20 of a file are.");
    },
    EACH_MS,
  );
});

describe("a failure of the model never fails the file", () => {
  test.each([
    ["an error", () => status(400, {}, { error: { message: "this model sees nothing" } })],
    ["an empty answer", () => () => streamed([" "])],
  ] as const)(
    "%s",
    async (_, answer) => {
      llm.answer(answer());
      const memory = await stored("trip.html", page(png(400, 300)));
      expect(memory).toMatchObject({ status: "completed" });
      expect(memory.content).toContain("Then home.");
      expect(memory.content).not.toContain("description");
      expect(memory.source.warnings?.join(" ") ?? "").not.toContain("at most 20");
    },
    EACH_MS,
  );
});

test(
  "the tokens count for the day",
  async () => {
    const usage = async () => (await mneme.call("GET", "/v1/usage")).body;
    const before = JSON.stringify(await usage());
    await stored("photo.png", png(310, 210));
    expect(JSON.stringify(await usage())).not.toBe(before);
  },
  EACH_MS,
);
