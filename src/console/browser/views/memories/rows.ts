// Which rows of a long table are in the page, and whether the window is too narrow for columns.

import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import { useEffect, useReducer, useState } from "preact/hooks";

/** Whether the window is as narrow as a phone. */
export function useIsNarrow(): boolean {
  const [query] = useState(() => matchMedia("(max-width: 640px)"));
  const [isNarrow, setIsNarrow] = useState(query.matches);
  useEffect(() => {
    const change = () => setIsNarrow(query.matches);
    query.addEventListener("change", change);
    return () => query.removeEventListener("change", change);
  }, [query]);
  return isNarrow;
}

/** TanStack's virtualizer, which says which rows of a frame are visible. */
export function useVirtual(
  frame: { readonly current: HTMLDivElement | null },
  count: number,
  rowPx: number,
): Virtualizer<HTMLDivElement, Element> {
  const [, render] = useReducer((round: number, _: undefined) => round + 1, 0);
  const options = {
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => rowPx,
    overscan: 12,
    initialRect: { width: 800, height: 700 },
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => render(undefined),
  };
  const [virtual] = useState(() => new Virtualizer<HTMLDivElement, Element>(options));
  virtual.setOptions(options);
  useEffect(() => virtual.measure(), [rowPx]);
  useEffect(() => virtual._didMount(), [virtual]);
  useEffect(() => virtual._willUpdate());
  return virtual;
}
