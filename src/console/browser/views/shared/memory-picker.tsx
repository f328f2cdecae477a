// Chooses a memory by a part of its title, so that nobody has to know its id.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { Field } from "../../ui/form.tsx";
import { Ago } from "../../ui/pieces.tsx";
import { Loaded } from "../../ui/states.tsx";
import { nameOf } from "./memory-names.ts";

const OFFERED = 6;

interface MemoryPickerProps {
  readonly label: string;
  /** Ids of the chosen memories. */
  readonly chosen: readonly string[];
  readonly onChosen: (ids: readonly string[]) => void;
  /** Whether more than one can be chosen. */
  readonly isMany?: boolean;
  /** Id of a memory that cannot be chosen. */
  readonly except?: string;
}

/** A search field with the memories that fit, to tick. */
export function MemoryPicker({ label, chosen, onChosen, isMany = false, except }: MemoryPickerProps) {
  const [q, setQ] = useState("");
  const found = useResource(
    async (signal) => {
      const { data } = await call("listMemories", { query: { q, limit: OFFERED + 1 }, signal });
      return data.filter(({ id }) => id !== except).slice(0, OFFERED);
    },
    [q],
  );
  const toggle = (id: string) => {
    if (!isMany) return onChosen([id]);
    onChosen(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]);
  };
  return (
    <fieldset class="stack tight">
      <legend>{label}</legend>
      <Field
        name="q"
        quiet
        label={t("Title contains")}
        placeholder={t("Title contains")}
        type="search"
        value={q}
        onValue={setQ}
      />
      <Loaded from={found} lines={OFFERED}>
        {(memories) => (
          <div class="choices list-of">
            {memories.length === 0 && <p class="choice fine">{t("No matching memories")}</p>}
            {memories.map((memory) => (
              <label key={memory.id} class="choice">
                <input
                  type={isMany ? "checkbox" : "radio"}
                  name="memory"
                  checked={chosen.includes(memory.id)}
                  onChange={() => toggle(memory.id)}
                />
                <span class="cut" dir="auto">
                  {nameOf(memory)}
                </span>
                <span class="fine picker-note">
                  <Ago time={memory.created_at} />
                </span>
              </label>
            ))}
          </div>
        )}
      </Loaded>
    </fieldset>
  );
}
