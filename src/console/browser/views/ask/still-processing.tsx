// A note below an answer that found nothing while memories are being processed, which cannot be found yet.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import { countText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";

/** Polling interval in milliseconds while memories are being processed. */
const POLL_MS = 3_000;

/** The note; once all are processed, it offers to ask again. Without any it shows nothing. */
export function StillProcessing() {
  const [wasProcessing, setWasProcessing] = useState(false);
  const count = useResource(
    async (signal) => {
      const { count: processing } = await call("countMemories", { query: { status: "processing" }, signal });
      if (processing > 0) setWasProcessing(true);
      return processing;
    },
    [],
    (processing) => (processing > 0 ? POLL_MS : null),
  );
  if (count.value === undefined || !wasProcessing) return null;
  return (
    <p class="fine" role="status">
      {count.value === 0
        ? t("All memories are processed now. Ask again.")
        : countText(
            count.value,
            "1 memory is still being processed and cannot be found yet.",
            "{n} memories are still being processed and cannot be found yet.",
          )}
    </p>
  );
}
