// The list of the parts of the program (SBOM) in the format CycloneDX 1.6.

import type { Part } from "../../src/binary/parts.ts";
import { VERSION } from "../../src/kit/version.ts";

/** Types of components in CycloneDX. */
const TYPES: Readonly<Record<Part["kind"], string>> = {
  package: "library",
  crate: "library",
  runtime: "platform",
  model: "machine-learning-model",
  data: "data",
};

/** The list of parts. It has no time and no random number, so that the same parts give the same bytes. */
export function cycloneDx(parts: readonly Part[]): object {
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": "mneme",
        name: "mneme",
        version: VERSION,
        licenses: [{ license: { id: "Apache-2.0" } }],
      },
    },
    components: parts.map(({ kind, name, version, licence, purl }) => ({
      type: TYPES[kind],
      "bom-ref": purl ?? `${kind}:${name}@${version}`,
      name,
      version,
      licenses: [isExpression(licence) ? { expression: licence } : { license: { name: licence } }],
      ...(purl !== null && { purl }),
    })),
  };
}

/** Whether a licence is an SPDX expression, not a sentence. Cargo's older form `MIT/Apache-2.0` is none. */
function isExpression(licence: string): boolean {
  return /^[\w.+()-]+( (AND|OR|WITH) [\w.+()-]+)*$/.test(licence);
}
