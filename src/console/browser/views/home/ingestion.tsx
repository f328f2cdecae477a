// The number of memories by status, with a button that retries all failed ones.

import { call } from "../../core/api.ts";
import { countText, numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { to } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { RotateCcw } from "../../ui/icons.ts";
import { Loaded } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";

/** Polling intervals in milliseconds: while memories are being processed, and otherwise. */
const BUSY_MS = 3_000;
const REST_MS = 30_000;

/** Tiles with the numbers. */
export function Ingestion() {
  const counts = useResource(
    async (signal) => {
      const [completed, processing, failed] = await Promise.all(
        ["completed", "processing", "failed"].map((status) => call("countMemories", { query: { status }, signal })),
      );
      return { completed: completed?.count ?? 0, processing: processing?.count ?? 0, failed: failed?.count ?? 0 };
    },
    [],
    ({ processing }) => (processing > 0 ? BUSY_MS : REST_MS),
  );
  const retry = async () => {
    const { retried } = await call("retryMemories", { body: {} });
    toast(countText(retried, "1 memory is processed again.", "{n} memories are processed again."));
    counts.reload();
  };
  return (
    <Loaded from={counts} lines={2}>
      {({ completed, processing, failed }) => (
        <section class="tiles" aria-label={t("Memories by status")}>
          <Tile label={t("Searchable")} value={completed} status="completed" />
          <Tile label={t("Processing")} value={processing} status="processing" />
          <Tile label={t("Failed")} value={failed} status="failed">
            {failed > 0 && (
              <div class="row tile-actions">
                <a class="fine why" href={to(["memories"], { status: "failed" })}>
                  {t("See why")}
                </a>
                {rights.value?.memoriesWrite && (
                  <Button size="small" icon={RotateCcw} run={retry}>
                    {t("Retry all")}
                  </Button>
                )}
              </div>
            )}
          </Tile>
        </section>
      )}
    </Loaded>
  );
}

interface TileProps {
  readonly label: string;
  readonly value: number;
  readonly status: string;
  readonly children?: preact.ComponentChildren;
}

function Tile({ label, value, status, children }: TileProps) {
  return (
    <div class={children ? "tile with-actions" : "tile"}>
      <p class="tile-label">{label}</p>
      <p class={`tile-value number ${status === "failed" && value > 0 ? "bad" : ""}`}>
        <a href={to(["memories"], { status })}>{numberText(value)}</a>
      </p>
      {children}
    </div>
  );
}
