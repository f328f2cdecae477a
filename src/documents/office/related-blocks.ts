// Finds the text of diagrams, charts and pictures, which are parts of their own. The readers of documents, slides and
// sheets call it for each element that refers to one.

import type { Block } from "../text-writer.ts";
import type { RangeValues } from "./chart.ts";
import { chartBlocks } from "./chart-part.ts";
import { diagramBlocks } from "./diagram.ts";
import type { OfficePackage } from "./package.ts";
import type { Attributes } from "./xml.ts";

/** Returns the blocks of the part to which an element refers; none if the part does not exist. */
export type RelatedBlocks = (element: string, attributes: Attributes) => readonly Block[];

/** Elements that refer to a part, with the attribute that names the relationship. */
const REFERENCES: Readonly<Record<string, string>> = {
  "dgm:relIds": "r:dm",
  "c:chart": "r:id",
  "cx:chart": "r:id",
  "a:blip": "r:embed",
};

/** @param targets parts by the ids of their relationships */
export function relatedBlocks(
  document: OfficePackage,
  targets: ReadonlyMap<string, string>,
  valuesOf?: RangeValues,
): RelatedBlocks {
  return (element, attributes) => {
    const target = targets.get(attributes[REFERENCES[element] ?? ""] ?? "");
    if (target === undefined) return [];
    if (element === "a:blip") return document.pictureBlocks(target);
    return element === "dgm:relIds" ? diagramBlocks(document, target) : chartBlocks(document, target, valuesOf);
  };
}
