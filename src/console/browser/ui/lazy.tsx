// Parts of the page that are loaded when they are first shown.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "../core/i18n.ts";
import { Problem, Skeleton } from "./states.tsx";

/** A component that is loaded when it is first shown. */
export function lazily<Props extends object>(load: () => Promise<{ default: ComponentType<Props> }>) {
  let loaded: ComponentType<Props> | null = null;
  return function Lazy(props: Props) {
    const [Shown, setShown] = useState<ComponentType<Props> | null>(() => loaded);
    const [error, setError] = useState<unknown>(null);
    const [round, setRound] = useState(0);
    useEffect(() => {
      if (loaded !== null) return;
      load().then(
        (module) => {
          loaded = module.default;
          setShown(() => loaded);
        },
        () => setError(new Error(t("A part of the page could not be loaded. Is the server running?"))),
      );
    }, [round]);
    if (Shown !== null) return <Shown {...props} />;
    if (error === null) return <Skeleton lines={4} />;
    const retry = () => {
      setError(null);
      setRound(round + 1);
    };
    return <Problem error={error} retry={retry} />;
  };
}
