// An answer: its text as Markdown with citations, a note if the memories do not support an answer, and its sources.

import type { SearchResult } from "../../core/calls.ts";
import { countText, dayText, numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { CircleAlert, LoaderCircle, RotateCcw } from "../../ui/icons.ts";
import { lazily } from "../../ui/lazy.tsx";
import { Badge, CopyButton } from "../../ui/pieces.tsx";
import { Problem } from "../../ui/states.tsx";
import { toastError } from "../../ui/toast.tsx";
import { placeOf } from "../shared/memory-names.ts";
import { citationsOf } from "./citations.ts";
import { StillProcessing } from "./still-processing.tsx";

const Markdown = lazily(() => import("../../ui/markdown.tsx"));

/** An answer, complete or in progress. */
export interface AnswerTurn {
  readonly text: string;
  readonly sources: readonly SearchResult[];
  readonly state: "writing" | "done" | "stopped" | "failed";
  readonly answerState: "answered" | "partial" | "not_found" | null;
  /** Number of tokens that the language model used; null until it is known. */
  readonly tokens: number | null;
  readonly error: unknown;
}

interface AnswerProps {
  readonly turn: AnswerTurn;
  readonly onSource: (result: SearchResult, number: number) => void;
  readonly retry?: (() => void) | undefined;
}

/** Shows an answer with its sources. */
export function Answer({ turn, onSource, retry }: AnswerProps) {
  const { text, sources, state, answerState, tokens, error } = turn;
  const citations = citationsOf(text, sources);
  const cited = [...citations].filter(([, source]) => source !== null) as (readonly [number, SearchResult])[];
  const shown = new Set(cited.map(([, source]) => source));
  const others = sources.filter((source) => !shown.has(source));
  const isSourceGone = state !== "writing" && [...citations.values()].includes(null);
  const open = (number: number) => {
    const source = citations.get(number);
    if (source != null) onSource(source, number);
    else if (state !== "writing") toastError(new Error(t("The source of [{n}] was deleted.", { n: number })));
  };
  return (
    <div class="answer">
      {answerState === "not_found" && (
        <p class="answer-state warn">
          <CircleAlert size={16} aria-hidden="true" /> {t("Nothing stored answers this.")}
        </p>
      )}
      {answerState === "partial" && (
        <p class="answer-state">
          <CircleAlert size={16} aria-hidden="true" /> {t("Only part of this is stored.")}
        </p>
      )}
      <div aria-live="polite" aria-busy={state === "writing"}>
        {text === "" && state === "writing" ? (
          <p class="fine row">
            <LoaderCircle size={16} class="spin" aria-hidden="true" /> {t("Searching the memories…")}
          </p>
        ) : (
          <Markdown text={text} onCitation={open} isBusy={state === "writing"} />
        )}
      </div>
      {answerState === "not_found" &&
        state === "done" &&
        retry !== undefined &&
        rights.value?.memoriesRead === true && <StillProcessing />}
      {error !== null && <Problem error={error} />}
      {state === "stopped" && (
        <p class="fine">{text === "" ? t("This question got no answer.") : t("Stopped before it was complete.")}</p>
      )}
      {cited.length > 0 && (
        <ul class="list source-list" aria-label={t("Sources")}>
          {cited.map(([number, source]) => (
            <li key={number}>
              <SourceButton source={source} number={number} onSource={onSource} />
            </li>
          ))}
        </ul>
      )}
      {others.length > 0 && (
        <details>
          <summary>{countText(others.length, "1 other passage was read", "{n} other passages were read")}</summary>
          <ul class="list source-list">
            {others.map((source, at) => (
              <li key={source.id}>
                <SourceButton source={source} number={Math.max(0, ...citations.keys()) + at + 1} onSource={onSource} />
              </li>
            ))}
          </ul>
        </details>
      )}
      {isSourceGone && <p class="fine">{t("A source of this answer was deleted since.")}</p>}
      {state !== "writing" && (
        <div class="row answer-foot">
          {text !== "" && <CopyButton text={text} label={t("Copy")} />}
          {retry && (
            <Button kind="ghost" size="small" icon={RotateCcw} run={retry}>
              {t("Ask again")}
            </Button>
          )}
          {tokens !== null && (
            <Badge>
              {tokens === 0 ? t("quoted, without a language model") : t("{n} tokens", { n: numberText(tokens) })}
            </Badge>
          )}
        </div>
      )}
    </div>
  );
}

interface SourceButtonProps {
  readonly source: SearchResult;
  readonly number: number;
  readonly onSource: (result: SearchResult, number: number) => void;
}

function SourceButton({ source, number, onSource }: SourceButtonProps) {
  const place = placeOf(source);
  const { title: named, userId, occurred_at: at } = source.metadata._memory;
  const title = named ?? t("Untitled");
  const about = [place !== title && place, userId, at && dayText(at)].filter((part) => part).join(" · ");
  return (
    <button type="button" class="source" onClick={() => onSource(source, number)}>
      <span class="citation">{number}</span>
      <span class="two-lines" dir="auto">
        {title}
      </span>
      {about !== "" && (
        <span class="fine source-note" dir="auto">
          {about}
        </span>
      )}
    </button>
  );
}
