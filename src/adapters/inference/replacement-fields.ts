// Reads `replacement` in the manifest of an embedder: weights with which a search decides whether a newer note has
// replaced an older one.

import { type LinearProbe, REPLACEMENT_SIGNS, type ReplacementTuning } from "../../domain/retrieval-tuning.ts";
import type { ManifestFields } from "./manifest-fields.ts";

/**
 * Reads the object `replacement`.
 * @param dimensions length of the stored vectors, and so of the probes
 * @throws ModelFilesError if a field is missing or has a wrong value
 */
export function readReplacement(fields: ManifestFields, dimensions: number): ReplacementTuning {
  return {
    changeProbe: fields.object("change_probe", (probe) => readProbe(probe, dimensions)),
    eventProbe: fields.object("event_probe", (probe) => readProbe(probe, dimensions)),
    slopes: fields.object("slopes", (slopes) => {
      const entries = [...REPLACEMENT_SIGNS, "bias" as const].map(
        (name) => [name, slopes.number(snakeCase(name))] as const,
      );
      return Object.fromEntries(entries) as ReplacementTuning["slopes"];
    }),
    cosineGapMax: fields.number("cosine_gap_max", 0),
  };
}

/** Reads a linear probe. Its weights are signed bytes in base64, multiplied by `scale`. */
function readProbe(fields: ManifestFields, dimensions: number): LinearProbe {
  const scale = fields.number("scale", 0);
  const bytes = new Int8Array(Buffer.from(fields.text("weights"), "base64"));
  if (bytes.length !== dimensions) throw fields.wrong("weights", `${dimensions} bytes in base64`);
  return { weights: Float32Array.from(bytes, (weight) => weight * scale), bias: fields.number("bias") };
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
