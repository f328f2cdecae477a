// The field for the next question, with mode and user.

import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../../core/i18n.ts";
import { filterOf, setFilters } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/form.tsx";
import { Send, Square } from "../../ui/icons.ts";
import { MODES } from "../shared/memory-names.ts";
import { UserField } from "../shared/user-field.tsx";

interface ComposerProps {
  readonly isBusy: boolean;
  readonly ask: (question: string) => void;
  readonly stop: () => void;
  /** Whether a user can be chosen. A chat keeps the user with which it began. */
  readonly mayScope: boolean;
}

/** The field for a question. Enter sends it; Shift+Enter adds a new line. */
export function Composer({ isBusy, ask, stop, mayScope }: ComposerProps) {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!isBusy) field.current?.focus({ preventScroll: true });
  }, [isBusy]);
  const send = () => {
    if (text.trim() === "" || isBusy) return;
    ask(text.trim());
    setText("");
  };
  return (
    <form
      class="composer"
      aria-label={t("Ask")}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        ref={field}
        rows={2}
        dir="auto"
        aria-label={t("Question")}
        placeholder={t("Ask your memories a question")}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      <div class="row between">
        <div class="row">
          <Field
            name="mode"
            label={t("Mode")}
            quiet
            value={filterOf("mode")}
            options={[["", t("Default mode")], ...MODES.map(([name]) => [name, name] as const)]}
            onValue={(mode) => setFilters({ mode })}
          />
          {mayScope && rights.value?.isConfined === false && (
            <UserField
              quiet
              placeholder={t("Any user")}
              value={filterOf("userId")}
              onValue={(userId) => setFilters({ userId })}
            />
          )}
        </div>
        {isBusy ? (
          <Button icon={Square} run={stop}>
            {t("Stop")}
          </Button>
        ) : (
          <Button type="submit" kind="primary" icon={Send} disabled={text.trim() === ""}>
            {t("Ask")}
          </Button>
        )}
      </div>
    </form>
  );
}
