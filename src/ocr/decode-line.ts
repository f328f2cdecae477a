// Turns the output of the recognition model into text (connectionist temporal classification, Graves et al. 2006): a
// probability per character for each step along the line.

/** Text of a line, and how sure the model is of it. */
export interface DecodedLine {
  readonly text: string;
  /** Mean probability of the characters of the line, 0..1; those that the model does not know count as 0. */
  readonly score: number;
}

/**
 * A blank step with a lower probability is ink that the model takes for no character that it knows. There are 0.03 to
 * 0.05 such steps per Latin or Chinese letter, 0.5 per Greek, 1.5 per Hebrew one (pages rendered on 29 Nov 2026).
 */
const BLANK_MIN = 0.9;
/**
 * Maximum number of steps between two characters; a Chinese character takes five. A larger gap means that characters
 * which the model does not know, such as Russian letters, were left out.
 */
const GAP_STEPS_MAX = 10;
/** Number of steps that a left-out character is assumed to take. */
const CHARACTER_STEPS = 5;

/**
 * The most probable text. A character that is repeated without a blank step between counts once.
 * @param steps probabilities, `alphabet.length` per step; class 0 is the blank
 */
export function decodeLine(steps: Float32Array, alphabet: readonly string[]): DecodedLine {
  const classes = alphabet.length;
  let text = "";
  let sum = 0;
  let events = 0;
  let last = 0;
  let lastStep = -1;
  for (let step = 0, start = 0; start + classes <= steps.length; step++, start += classes) {
    let best = 0;
    let probability = steps[start] ?? 0;
    for (let at = 1; at < classes; at++) {
      const value = steps[start + at] ?? 0;
      if (value > probability) [best, probability] = [at, value];
    }
    if (best === 0) {
      if (probability < BLANK_MIN) events++;
    } else if (best !== last) {
      text += alphabet[best] ?? "";
      sum += probability;
      events++;
      if (lastStep >= 0) events += Math.max(0, step - lastStep - GAP_STEPS_MAX) / CHARACTER_STEPS;
      lastStep = step;
    }
    last = best;
  }
  return { text, score: events === 0 ? 0 : sum / events };
}

/** The classes of the model in order: the blank, the characters of its file, and a space. */
export function alphabetOf(characters: string): readonly string[] {
  return ["", ...characters.split("\n"), " "];
}
