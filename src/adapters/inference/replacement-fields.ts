// Reads `replacement` in the manifest of an embedder: weights with which a search decides whether a newer note has
// replaced an older one.

import {
  type LinearProbe,
  REPLACEMENT_SIGNS,
  type ReplacementTuning,
  type SignNetwork,
  type SignSlopes,
} from "../../domain/retrieval-tuning.ts";
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
    replacedProbe: fields.objectOr("replaced_probe", null, (probe) => readProbe(probe, dimensions)),
    weights: fields.has("network")
      ? fields.object("network", readNetwork)
      : { slopes: fields.object("slopes", readSlopes) },
    cosineGapMax: fields.number("cosine_gap_max", 0),
  };
}

/** Reads the slopes of a regression, which models of earlier versions have. The sign `isReplaced` came later. */
function readSlopes(fields: ManifestFields): SignSlopes["slopes"] {
  const names = [...REPLACEMENT_SIGNS, "bias" as const].filter((name) => name !== "isReplaced");
  const slopes = Object.fromEntries(names.map((name) => [name, fields.number(snakeCase(name))]));
  return { ...slopes, isReplaced: 0 } as SignSlopes["slopes"];
}

function readNetwork(fields: ManifestFields): SignNetwork {
  const names = REPLACEMENT_SIGNS.map(snakeCase);
  const units = fields.list("units", (unit) => {
    const weights = unit.numbers("weights", names, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY);
    return {
      weights: names.map((name) => weights[name] ?? 0),
      bias: unit.number("bias"),
      output: unit.number("output"),
    };
  });
  return { units, bias: fields.number("bias") };
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
