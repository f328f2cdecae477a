// Defines the runs of text that a page consists of. pdfjs.ts reads them; segments.ts joins them to lines.

/**
 * Text in one font. Its coordinates, in points, are rotated so that the text is horizontal and the next line is below
 * it.
 */
export interface Run {
  /** Text in logical order. Ligatures and presentation forms are replaced by letters. */
  readonly text: string;
  readonly left: number;
  readonly right: number;
  /** Vertical position of the baseline. It increases from top to bottom. */
  readonly baseline: number;
  /** Font size. */
  readonly size: number;
  readonly face: Face;
}

/** Properties of a font that indicate headings and code. */
export interface Face {
  readonly isBold: boolean;
  readonly isMonospaced: boolean;
}
