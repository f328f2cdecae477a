// Which rows of a long table are in the page.

import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import { useEffect, useReducer, useState } from "preact/hooks";

/**
 * TanStack's virtualizer, which says which rows of a frame are visible.
 * @param heightOf height of a row in pixels
 * @param heights changes whenever the height of a row does
 */
export function useVirtual(
  frame: { readonly current: HTMLDivElement | null },
  count: number,
  heightOf: (row: number) => number,
  heights: string,
): Virtualizer<HTMLDivElement, Element> {
  const [, render] = useReducer((round: number, _: undefined) => round + 1, 0);
  const options = {
    count,
    getScrollElement: () => frame.current,
    estimateSize: heightOf,
    overscan: 12,
    initialRect: { width: 800, height: 700 },
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => render(undefined),
  };
  const [virtual] = useState(() => new Virtualizer<HTMLDivElement, Element>(options));
  virtual.setOptions(options);
  useEffect(() => virtual.measure(), [heights]);
  useEffect(() => virtual._didMount(), [virtual]);
  useEffect(() => virtual._willUpdate());
  return virtual;
}
