// A graph as the picture of it needs it.

/** A node. */
export interface GraphNode {
  readonly id: string;
  readonly label: string;
  /** Decides the colour. */
  readonly kind: string;
  /** Decides the size, from 1. */
  readonly weight: number;
}

/** A graph. Links whose ends are no nodes are left out. */
export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly links: readonly { readonly from: string; readonly to: string; readonly weight?: number }[];
}

/** The colour token of a kind. */
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
