// Sends responses that repeat long texts of their request, piece by piece.

import { TimeSlice } from "../kit/time-slice.ts";
import { LongText } from "../ports/json-bodies.ts";

/** The long texts in a body, in order. They are contents of memories, see `bodyBounds`. */
export function longTextsIn(body: unknown): readonly LongText[] {
  const { content, memories = [] } = (body ?? {}) as { readonly content?: unknown; readonly memories?: unknown };
  if (content instanceof LongText) return [content];
  return Array.isArray(memories) ? memories.flatMap(longTextsIn) : [];
}

/** Matches the placeholder of a long text (`LongText.toJSON`) in JSON. */
const PLACEHOLDER = /"(\\u0000text \d+)"/;

/**
 * Replaces the placeholders of long texts in a JSON response by the texts. The body is a stream that reads the texts as
 * the caller takes them.
 * @param onEnd called once, when the body was sent or the caller has gone
 */
export async function withLongTexts(
  response: Response,
  longTexts: readonly LongText[],
  onEnd: () => void,
): Promise<Response> {
  const pieces = piecesOf(await response.text(), longTexts);
  const slice = new TimeSlice();
  let isOpen = true;
  const end = () => {
    if (isOpen) onEnd();
    isOpen = false;
  };
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        await slice.next();
        const { value, done } = pieces.next();
        // a copy, because the next piece takes the place of this one
        if (done !== true) return controller.enqueue(new Uint8Array(value));
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      end();
    },
    cancel: end,
  });
  return new Response(body, { status: response.status, headers: response.headers });
}

function* piecesOf(json: string, longTexts: readonly LongText[]): Generator<Uint8Array> {
  const byPlaceholder = new Map(longTexts.map((text) => [text.toJSON(), text]));
  // every second part is a placeholder
  for (const [at, part] of json.split(PLACEHOLDER).entries()) {
    const text = at % 2 === 0 ? undefined : byPlaceholder.get(JSON.parse(`"${part}"`));
    if (text === undefined) yield Buffer.from(at % 2 === 0 ? part : `"${part}"`);
    else {
      yield QUOTE;
      yield* text.jsonPieces();
      yield QUOTE;
    }
  }
}

const QUOTE = Buffer.from('"');
