// The error for a model whose graph cannot be converted for a GPU.

/** A graph that cannot be converted for a GPU. The message continues "the model cannot be converted for the GPU: …". */
export class UnsupportedGraph extends Error {
  override readonly name = "UnsupportedGraph";
}
