// A dialog with the search as code to copy.

import { useState } from "preact/hooks";
import { t } from "../../core/i18n.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Snippet } from "../../ui/pieces.tsx";
import { bodyOf, type Question } from "./question.ts";
import { SNIPPET_LANGUAGES, type SnippetLanguage, snippetOf } from "./snippets.ts";

/** A dialog with the search as code in a language that a person chooses. */
export function SnippetDialog({ question, close }: { readonly question: Question; readonly close: () => void }) {
  const [language, setLanguage] = useState<SnippetLanguage>("curl");
  return (
    <Dialog title={t("Copy as code")} close={close} kind="wide">
      <div class="stack">
        <div class="row">
          {SNIPPET_LANGUAGES.map((name) => (
            <Button key={name} size="small" pressed={name === language} run={() => setLanguage(name)}>
              {name}
            </Button>
          ))}
        </div>
        <Snippet label={language} code={codeOf(question, language)} />
        <p class="fine">{t("The code reads the key from MNEME_API_KEY.")}</p>
      </div>
    </Dialog>
  );
}

function codeOf(question: Question, language: SnippetLanguage): string {
  try {
    return snippetOf(language, bodyOf(question, question.modes[0] ?? "hybrid"));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
