// Example questions for an empty conversation. They ask about the names that most memories mention, so each has an
// answer.

import { call } from "../../core/api.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { filterOf } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { Plus, Sparkles } from "../../ui/icons.ts";
import { Empty } from "../../ui/states.tsx";

const EXAMPLES = 3;

/** Buttons with example questions, or a button to add a memory if there are none. */
export function Examples({ ask }: { readonly ask: (question: string) => void }) {
  const mayRead = rights.value?.memoriesRead === true;
  const userId = filterOf("userId");
  const names = useResource(
    async (signal) => {
      if (!mayRead) return [];
      const { data } = await call("listEntities", { query: { kind: "name", userId, limit: EXAMPLES }, signal });
      return data.map(({ name }) => name);
    },
    [userId],
  );
  const isEmpty = mayRead && names.value?.length === 0;
  return (
    <Empty
      icon={Sparkles}
      title={t("What would you like to know?")}
      action={
        isEmpty
          ? rights.value?.memoriesWrite && (
              <LinkButton icon={Plus} href="#/memories?add=text">
                {t("Add a memory")}
              </LinkButton>
            )
          : names.value?.map((name) => {
              const question = t("What is known about {name}?", { name });
              return (
                <Button key={name} size="small" run={() => ask(question)}>
                  {question}
                </Button>
              );
            })
      }
    >
      {t("An answer quotes what is stored and names its sources. What is not stored, it does not make up.")}
    </Empty>
  );
}
