// Splits the output of a child process into lines.

/** The lines of a stream. @param charactersMax maximum length of a line; a longer one ends the stream */
export async function* linesOf(
  stream: ReadableStream<Uint8Array>,
  charactersMax = Number.POSITIVE_INFINITY,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const part of stream) {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
    if (rest.length > charactersMax) return;
  }
}
