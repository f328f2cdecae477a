// The conversion of TypeBox schemas to JSON Schema, and that another validator accepts and refuses the same values.

import { describe, expect, test } from "bun:test";
import { type TSchema, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import Ajv2020 from "ajv/dist/2020";
import { Text } from "../../src/api/check.ts";
import { exampleOf } from "../../src/api/examples.ts";
import { SchemaCollection } from "../../src/api/json-schema.ts";
import { SendMessage, UpdateChat } from "../../src/api/schema/chats.ts";
import { Body, JsonMap, Nullable, OneOf, Optional } from "../../src/api/schema/fields.ts";
import { CreateMemory, SearchMemories } from "../../src/api/schema/memories.ts";
import { CreateKey, UpdateProject } from "../../src/api/schema/platform.ts";
import { CreateEvent, UpsertUser } from "../../src/api/schema/users.ts";
import { CreateWebhook, UpdateWebhook } from "../../src/api/schema/webhooks.ts";
import { seeded } from "../support/seeded.ts";

const plain = (schema: TSchema) => new SchemaCollection().of(schema);

describe("conversion", () => {
  const named = Type.Object({ at: Text() }, { $id: "Place" });
  const rows: readonly (readonly [what: string, given: TSchema, expected: object])[] = [
    ["a text keeps its bounds", Text({ minLength: 1, maxLength: 5 }), { type: "string", minLength: 1, maxLength: 5 }],
    ["a choice is an enum", OneOf(["a", "b"], "why"), { type: "string", enum: ["a", "b"], description: "why" }],
    ["a choice of one is an enum of one", OneOf(["a"]), { type: "string", const: "a" }],
    [
      "a value or null has both types, its bounds once",
      Nullable(Text({ minLength: 1, description: "why" })),
      { type: ["string", "null"], minLength: 1, description: "why" },
    ],
    ["a choice or null has null among its values", Nullable(OneOf(["a", "b"])), nullableChoice("a", "b")],
    ["a choice of one or null has two values", Nullable(Type.Literal("a")), nullableChoice("a")],
    ["anything or null is anything", Nullable(Type.Unknown({ description: "why" })), { description: "why" }],
    ["a map allows every name", JsonMap, { type: "object", additionalProperties: true }],
    [
      "a map of numbers allows numbers",
      Type.Record(Type.String(), Type.Number()),
      { type: "object", additionalProperties: { type: "number" } },
    ],
    ["a named schema is referred to", named, { $ref: "#/components/schemas/Place" }],
    [
      "a named schema or null is one of two",
      Nullable(named),
      { anyOf: [{ $ref: "#/components/schemas/Place" }, { type: "null" }] },
    ],
    [
      "a body stays closed",
      Body({ a: Optional(Type.Integer({ default: 3 })) }),
      {
        type: "object",
        properties: { a: { type: ["integer", "null"], default: 3 } },
        additionalProperties: false,
      },
    ],
    [
      "different shapes stay a union",
      Type.Array(Type.Union([Type.Object({ a: Text() }), Type.Integer()])),
      {
        type: "array",
        items: {
          anyOf: [{ type: "object", required: ["a"], properties: { a: { type: "string" } } }, { type: "integer" }],
        },
      },
    ],
  ];
  for (const [what, given, expected] of rows) {
    test(what, () => {
      const converted = plain(given);
      expect(converted).toEqual(expected as typeof converted);
      expect(Object.getOwnPropertySymbols(converted)).toEqual([]);
    });
  }

  test("a recursive schema refers to its own name", () => {
    const schemas = new SchemaCollection();
    schemas.of(Type.Recursive((Self) => Type.Object({ inner: Type.Array(Self) }), { $id: "Tree" }));
    expect(schemas.components).toEqual({
      Tree: {
        type: "object",
        required: ["inner"],
        properties: { inner: { type: "array", items: { $ref: "#/components/schemas/Tree" } } },
      },
    });
  });

  test("a name can be reused for an equal schema, and not for a different one", () => {
    const schemas = new SchemaCollection();
    schemas.of(Type.Object({ here: named, there: Type.Optional(named) }));
    expect(Object.keys(schemas.components)).toEqual(["Place"]);
    expect(() => schemas.of(Type.Object({ at: Type.Integer() }, { $id: "Place" }))).toThrow("two schemas");
  });
});

describe("another validator agrees with ours", () => {
  const requests = {
    CreateMemory,
    SearchMemories,
    SendMessage,
    UpdateChat,
    UpsertUser,
    CreateEvent,
    CreateKey,
    UpdateProject,
    CreateWebhook,
    UpdateWebhook,
  };
  const seed = Number(process.env.MNEME_SEED ?? 20_261_121);
  for (const [name, schema] of Object.entries(requests)) {
    test(`${name} (seed ${seed})`, () => {
      const random = seeded(seed);
      const ours = TypeCompiler.Compile(schema);
      // formats are not compared: api/drafts.ts checks times itself, because they must be in the future, which no
      // format expresses
      const ajv = new Ajv2020({ strict: true, strictTypes: false, allowUnionTypes: true, validateFormats: false });
      const theirs = ajv.compile(plain(schema));
      const example = exampleOf(plain(schema), { components: {}, group: "Memories" }) as Record<string, unknown>;
      // filters are left out: domain/filter.ts checks them, by rules that the schema does not express
      const fields = [...Object.keys(schema.properties), "unknown_field"].filter((field) => field !== "filters");
      const verdicts = { accepted: 0, refused: 0 };
      for (let round = 0; round < 400; round++) {
        const value = JSON.parse(JSON.stringify(example)) as Record<string, unknown>;
        for (let change = random() * 3; change > 1; change--) {
          const field = fields[Math.floor(random() * fields.length)] ?? "";
          if (random() < 0.2) delete value[field];
          else value[field] = anyValue(random, example[field]);
        }
        const isAccepted = ours.Check(value);
        verdicts[isAccepted ? "accepted" : "refused"]++;
        expect([isAccepted, value]).toEqual([theirs(value), value]);
      }
      expect(Math.min(verdicts.accepted, verdicts.refused)).toBeGreaterThan(20);
    });
  }
});

function nullableChoice(...values: string[]) {
  return { type: ["string", "null"], enum: [...values, null] };
}

function anyValue(random: () => number, sound: unknown): unknown {
  const texts = ["", " ", "x", "x".repeat(300), "😀".repeat(256), "😀".repeat(257), "fast", "memories:read"];
  const values = [null, true, false, 0, 1, -1, 1.5, 101, 5e12, ...texts, [], ["x"], ["", "x"], [1], ["*", "*"], {}];
  const objects = [{ a: 1 }, { enabled: true }, { enabled: "yes" }, { model: null }, { unknown: 1 }];
  const all = [...values, ...objects, sound, sound, sound];
  return all[Math.floor(random() * all.length)] ?? null;
}
