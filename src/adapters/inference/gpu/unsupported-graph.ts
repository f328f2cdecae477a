// The error for a model whose graph cannot be converted for a GPU.

/** A graph that half-graph.ts cannot convert. The message completes "the model cannot be converted for the GPU: …". */
export class UnsupportedGraph extends Error {
  override readonly name = "UnsupportedGraph";
}
