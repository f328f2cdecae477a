// The cited passage, shown beside the conversation.

import type { SearchResult } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { to } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ArrowRight, FlaskConical } from "../../ui/icons.ts";
import { passageFilter } from "../shared/memory-names.ts";
import { ResultCard } from "../shared/result-card.tsx";

interface SourcePanelProps {
  readonly result: SearchResult;
  readonly number: number;
  readonly query: string;
  readonly close: () => void;
}

/** A side panel with the passage that a citation refers to. */
export function SourcePanel({ result, number, query, close }: SourcePanelProps) {
  return (
    <Dialog title={t("Source {n}", { n: number })} kind="panel" close={close}>
      <div class="stack">
        <ResultCard result={result} query={query} rank={number} />
        {rights.value?.memoriesRead && (
          <div class="row">
            <LinkButton
              kind="primary"
              icon={ArrowRight}
              href={to(["memories", result.memory_id], { passage: passageFilter(result) })}
            >
              {t("Open the memory at this passage")}
            </LinkButton>
            <LinkButton icon={FlaskConical} href={to(["playground"], { q: query, modes: "hybrid,precise" })}>
              {t("Why was it found?")}
            </LinkButton>
          </div>
        )}
      </div>
    </Dialog>
  );
}
