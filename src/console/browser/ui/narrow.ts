// Whether the window is too narrow for columns.

import { useEffect, useState } from "preact/hooks";

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
