// A button that stores a question with the expected memory as a test case.

import { call } from "../../core/api.ts";
import { t } from "../../core/i18n.ts";
import { go } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { CircleSlash, Target } from "../../ui/icons.ts";
import { toast } from "../../ui/toast.tsx";

interface ExpectationProps {
  readonly query: string;
  readonly userId: string;
  /** Id of the memory that should be found first; null if nothing should be found. */
  readonly memoryId: string | null;
}

/** The button; renders nothing for keys that may not store cases. */
export function Expectation({ query, userId, memoryId }: ExpectationProps) {
  if (rights.value?.project !== true || rights.value.isConfined) return null;
  const store = async () => {
    const expected = memoryId === null ? { not_found: true } : { memory_ids: [memoryId] };
    await call("createCase", { body: { query, expected, ...(userId !== "" && { userId }) } });
    toast(t("The case was stored."), { label: t("Open cases"), run: () => go(["cases"]) });
  };
  const label = memoryId === null ? t("Expect no answer") : t("Expect this");
  return (
    <Button
      kind="ghost"
      size="small"
      class="expectation"
      icon={memoryId === null ? CircleSlash : Target}
      title={`${label}. ${t("Stores the question as a case, which can be run again after a change")}`}
      run={store}
    >
      {label}
    </Button>
  );
}
