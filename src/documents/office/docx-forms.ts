// Reads the properties of content controls and form fields of a Word document (ECMA-376-1, 17.5.2 and 17.16; check
// boxes: [MS-DOCX] 2.6.1), which say what a check box or a list shows.

import { type Attributes, isOn } from "./xml.ts";

/** Elements with such properties. */
export const FORM_PROPERTIES: ReadonlySet<string> = new Set(["w:sdtPr", "w:ffData"]);

/** What a control or field shows. */
export interface ShownValue {
  readonly text: string;
  /** Whether it is a content control, whose content `text` replaces; in a form field it is added. */
  readonly isControl: boolean;
}

const CHECKED = "☑";
const UNCHECKED = "☐";
/** Maximum number of entries of a list. Word allows 25. */
const ENTRIES_MAX = 1_000;

/** Reads the properties of one control or field at a time. */
export class FormReader {
  #element: string | null = null;
  #isBox = false;
  #isList = false;
  #isEmpty = false;
  #isChecked: boolean | null = null;
  #isCheckedFirst = false;
  #selected = 0;
  #entries: string[] = [];

  /** Whether the content of the last control is only an instruction, such as `Click here to enter text`. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  get isOpen(): boolean {
    return this.#element !== null;
  }

  open(name: string, attributes: Attributes): "skip" | undefined {
    const { val = "" } = attributes;
    switch (name) {
      case "w:sdtPr":
      case "w:ffData":
        this.#element = name;
        this.#isBox = false;
        this.#isList = false;
        this.#isEmpty = false;
        this.#isChecked = null;
        this.#isCheckedFirst = false;
        this.#selected = 0;
        this.#entries = [];
        break;
      case "w14:checkbox":
      case "w:checkBox":
        this.#isBox = true;
        break;
      case "w14:checked":
      case "w:checked":
        this.#isChecked = isOn(attributes);
        break;
      case "w:showingPlcHdr":
        this.#isEmpty = isOn(attributes);
        break;
      case "w:ddList":
        this.#isList = true;
        break;
      case "w:default":
        this.#isCheckedFirst = isOn(attributes);
        this.#selected = Number.parseInt(val, 10) || 0;
        break;
      case "w:result":
        this.#selected = Number.parseInt(val, 10) || 0;
        break;
      case "w:listEntry":
        if (this.#entries.length < ENTRIES_MAX) this.#entries.push(val);
        break;
      default:
        return "skip";
    }
    return undefined;
  }

  /** Ends an element. If it ends the properties, returns what is shown; null if they do not say. */
  close(name: string): ShownValue | null {
    if (name !== this.#element) return null;
    const isControl = name === "w:sdtPr";
    this.#element = null;
    if (this.#isBox) return { text: (this.#isChecked ?? this.#isCheckedFirst) ? CHECKED : UNCHECKED, isControl };
    const entry = this.#isList ? (this.#entries[this.#selected] ?? "") : "";
    return entry === "" ? null : { text: entry, isControl };
  }
}
