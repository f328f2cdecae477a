// The text of a memory, unformatted or as Markdown. The passage that the address names is highlighted.

import { useEffect, useRef } from "preact/hooks";
import type { Memory } from "../../core/calls.ts";
import { countText, numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { filterOf, setFilters } from "../../core/router.ts";
import { Button } from "../../ui/button.tsx";
import { lazily } from "../../ui/lazy.tsx";
import { Card, CopyButton } from "../../ui/pieces.tsx";
import { dialogueOf } from "../shared/dialogue.ts";

/** Maximum number of characters that are shown. A longer text is cut, so that the page stays fast. */
const CHARACTERS_SHOWN = 300_000;
/** Number of code points that are shown before the highlighted passage of a text that is cut. */
const BEFORE_PASSAGE = 20_000;

const Markdown = lazily(() => import("../../ui/markdown.tsx"));

/** The card with the text. */
export function MemoryText({ memory: { content } }: { readonly memory: Memory }) {
  const dialogue = dialogueOf(content);
  const passage = passageInAddress();
  const isMarkdown = passage === null && dialogue === null && filterOf("as") === "markdown";
  return (
    <Card label={t("Text")}>
      <div class="row between text-head">
        <span class="fine">{countText(content.length, "1 character", "{n} characters")}</span>
        <span class="row">
          {dialogue === null && content.includes("\n") && (
            <span class="segments" role="group" aria-label={t("Shown as")}>
              <Button size="small" pressed={!isMarkdown} run={() => setFilters({ as: null })}>
                {t("Text")}
              </Button>
              <Button size="small" pressed={isMarkdown} run={() => setFilters({ as: "markdown", passage: null })}>
                Markdown
              </Button>
            </span>
          )}
          <CopyButton text={content} small label={t("Copy the text")} />
        </span>
      </div>
      {isMarkdown ? (
        <Markdown text={content.slice(0, CHARACTERS_SHOWN)} />
      ) : passage !== null && dialogue === null ? (
        <WithPassage content={content} {...passage} />
      ) : (
        <p class="plain-text memory-text" dir="auto">
          {(dialogue ?? content).slice(0, CHARACTERS_SHOWN)}
        </p>
      )}
      {content.length > CHARACTERS_SHOWN && (
        <p class="fine">
          {t("{n} of {total} characters are shown.", {
            n: numberText(CHARACTERS_SHOWN),
            total: numberText(content.length),
          })}
        </p>
      )}
    </Card>
  );
}

interface Passage {
  /** In code points. */
  readonly start: number;
  readonly end: number;
}

function WithPassage({ content, start, end }: Passage & { readonly content: string }) {
  const mark = useRef<HTMLElement>(null);
  useEffect(() => {
    mark.current?.scrollIntoView({ block: "center" });
    mark.current?.focus({ preventScroll: true });
  }, [start, end]);
  const points = Array.from(content);
  const from = points.length > CHARACTERS_SHOWN ? Math.max(0, start - BEFORE_PASSAGE) : 0;
  const shown = points.slice(from, from + CHARACTERS_SHOWN);
  return (
    <p class="plain-text memory-text" dir="auto">
      {from > 0 && "…"}
      {shown.slice(0, start - from).join("")}
      <mark ref={mark} class="passage-mark" tabIndex={-1}>
        {shown.slice(start - from, end - from).join("")}
      </mark>
      {shown.slice(end - from).join("")}
    </p>
  );
}

function passageInAddress(): Passage | null {
  const [start, end] = filterOf("passage").split("-").map(Number);
  return start !== undefined && end !== undefined && end > start ? { start, end } : null;
}
