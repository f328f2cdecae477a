// The data of a graph picture (graph.tsx).

/** A node. */
export interface GraphNode {
  readonly id: string;
  readonly label: string;
  /** Kind of the node, which determines its colour. */
  readonly kind: string;
  /** Weight of the node, at least 1, which determines its size. */
  readonly weight: number;
}

/** A graph. Links with an end that is not in `nodes` are not drawn. */
export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly links: readonly { readonly from: string; readonly to: string; readonly weight?: number }[];
}

/** The colour of tokens.css for a kind of node. */
export function tokenOfKind(kind: string): string {
  const tokens: Readonly<Record<string, string>> = {
    memory: "accent",
    name: "signal-graph",
    title: "signal-text",
    quote: "signal-time",
    identifier: "signal-rerank",
    date: "signal-neighbours",
    phrase: "signal-vector",
  };
  return tokens[kind] ?? "signal-neighbours";
}
