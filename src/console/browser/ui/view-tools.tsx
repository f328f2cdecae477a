// The buttons above a picture that can be enlarged: the same for the map and for graphs.

import type { ComponentChildren } from "preact";
import { t } from "../core/i18n.ts";
import { Button } from "./button.tsx";
import { Maximize, Minus, Plus } from "./icons.ts";

interface ViewToolsProps {
  readonly enlarge: (isCloser: boolean) => void;
  readonly showAll: () => void;
  /** Further buttons. */
  readonly children?: ComponentChildren;
}

/** The buttons. */
export function ViewTools({ enlarge, showAll, children }: ViewToolsProps) {
  return (
    <div class="view-tools">
      <Button size="small" icon={Plus} label={t("Zoom in")} run={() => enlarge(true)} />
      <Button size="small" icon={Minus} label={t("Zoom out")} run={() => enlarge(false)} />
      <Button size="small" icon={Maximize} label={t("Show all")} run={showAll} />
      {children}
    </div>
  );
}
