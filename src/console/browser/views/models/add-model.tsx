// A dialog to add a model: one that another server runs, or model files.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { InstalledModel } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { CheckField, Field, Form, listOf } from "../../ui/form.tsx";
import { Plus } from "../../ui/icons.ts";
import { Tabs } from "../../ui/pieces.tsx";
import { toast } from "../../ui/toast.tsx";

/** Supported interfaces of other servers, each with an example of an address. */
const INTERFACES = [
  { api: "openai", title: "OpenAI-compatible", address: "https://api.example/v1" },
  { api: "tei", title: "text-embeddings-inference", address: "http://tei.example:8080" },
  { api: "ollama", title: "Ollama", address: "http://ollama.example:11434" },
  { api: "cohere", title: "Cohere", address: "https://api.cohere.com" },
  { api: "jina", title: "Jina and compatible (Infinity)", address: "https://api.jina.ai/v1" },
] as const;
const WITHOUT_RERANKERS: readonly string[] = ["openai", "ollama"];

interface AddModelProps {
  /** `remote` or `files`. */
  readonly kind: string;
  readonly close: () => void;
  readonly onAdded: (model: InstalledModel) => void;
}

/** A dialog to add a model. */
export function AddModel({ kind, close, onAdded }: AddModelProps) {
  const isOfFiles = kind === "files";
  const add = async (body: object) => {
    const model = await call("addInstalledModel", { body });
    toast(
      model.status === "failed"
        ? t("The model was added, but does not answer yet.")
        : t("The model was added. Projects can use it as soon as it is ready."),
    );
    onAdded(model);
  };
  return (
    <Dialog title={t("Add a model")} close={close} kind="wide">
      <div class="stack">
        <Tabs
          label={t("Kind")}
          filter="add"
          current={isOfFiles ? "files" : "remote"}
          tabs={[
            ["remote", t("On another server")],
            ["files", t("From files")],
          ]}
        />
        {isOfFiles ? <FilesForm add={add} /> : <RemoteForm add={add} />}
      </div>
    </Dialog>
  );
}

interface FormProps {
  readonly add: (body: object) => Promise<void>;
}

function RemoteForm({ add }: FormProps) {
  const [api, setApi] = useState<string>("openai");
  const [task, setTask] = useState("embed");
  const [address, setAddress] = useState("");
  const [model, setModel] = useState("");
  const [key, setKey] = useState("");
  const [id, setId] = useState("");
  const [queryPrefix, setQueryPrefix] = useState("");
  const [passagePrefix, setPassagePrefix] = useState("");
  const [tokens, setTokens] = useState("");
  const [languages, setLanguages] = useState("");
  const [saysPurpose, setSaysPurpose] = useState(false);
  const mayRerank = !WITHOUT_RERANKERS.includes(api);
  const isEmbedder = task === "embed" || !mayRerank;
  const send = () =>
    add({
      remote: {
        ...{ api, base_url: address.trim(), model: model.trim(), task: isEmbedder ? "embed" : "rerank" },
        ...(key.trim() !== "" && { api_key: key.trim() }),
        ...(tokens !== "" && { tokens_max: Number(tokens) }),
        ...(listOf(languages).length > 0 && { languages: listOf(languages) }),
        // prefixes are not trimmed: spaces at their ends belong to them
        ...(isEmbedder &&
          (queryPrefix !== "" || passagePrefix !== "") && {
            prefixes: { query: queryPrefix || null, passage: passagePrefix || null },
          }),
        ...(isEmbedder && saysPurpose && { says_purpose: true }),
      },
      ...(id.trim() !== "" && { id: id.trim() }),
    });
  return (
    <Form
      label={t("Add a model")}
      verb={t("Add the model")}
      icon={Plus}
      disabled={address.trim() === "" || model.trim() === ""}
      send={send}
    >
      <div class="columns narrow">
        <Field
          name="remote.api"
          label={t("Provider API")}
          value={api}
          onValue={setApi}
          options={INTERFACES.map((one) => [one.api, one.title] as const)}
        />
        <Field
          name="remote.task"
          label={t("Task")}
          value={isEmbedder ? "embed" : "rerank"}
          onValue={setTask}
          options={[["embed", t("embeddings")], ...(mayRerank ? ([["rerank", t("reranker")]] as const) : [])]}
        />
      </div>
      <Field
        name="remote.base_url"
        label={t("Address")}
        type="url"
        placeholder={INTERFACES.find((one) => one.api === api)?.address}
        value={address}
        onValue={setAddress}
        autofocus
      />
      <div class="columns narrow">
        <Field
          name="remote.model"
          label={t("Model")}
          placeholder="bge-m3"
          hint={t("Model name on that server")}
          value={model}
          onValue={setModel}
        />
        <Field
          name="remote.api_key"
          label={t("API key of the provider")}
          type="password"
          hint={t("Optional. It is never shown again.")}
          value={key}
          onValue={setKey}
        />
      </div>
      <details>
        <summary>{t("More fields")}</summary>
        <div class="stack">
          <div class="columns narrow">
            <Field
              name="id"
              label={t("Name here")}
              hint={t("Optional. Derived from the model's name.")}
              value={id}
              onValue={setId}
            />
            <Field
              name="remote.tokens_max"
              label={t("Maximum input (tokens)")}
              type="number"
              min={16}
              max={8192}
              placeholder="512"
              value={tokens}
              onValue={setTokens}
            />
            <Field
              name="remote.languages"
              label={t("Languages")}
              placeholder="en, de"
              hint={t("Separated by commas. Leave empty for many.")}
              value={languages}
              onValue={setLanguages}
            />
          </div>
          {isEmbedder && (
            <>
              <div class="columns narrow">
                <Field
                  name="remote.prefixes.query"
                  label={t("Prefix for queries")}
                  placeholder="query: "
                  code
                  value={queryPrefix}
                  onValue={setQueryPrefix}
                />
                <Field
                  name="remote.prefixes.passage"
                  label={t("Prefix for stored texts")}
                  placeholder="passage: "
                  code
                  value={passagePrefix}
                  onValue={setPassagePrefix}
                />
              </div>
              <CheckField
                label={t("Tell the server whether a text is a query or a passage")}
                checked={saysPurpose}
                onChecked={setSaysPurpose}
              />
            </>
          )}
        </div>
      </details>
    </Form>
  );
}

function FilesForm({ add }: FormProps) {
  const [source, setSource] = useState("");
  const [sha256, setSha256] = useState("");
  const [id, setId] = useState("");
  return (
    <Form
      label={t("Add a model")}
      verb={t("Add the model")}
      icon={Plus}
      disabled={source.trim() === ""}
      send={() =>
        add({
          source: source.trim(),
          ...(sha256.trim() !== "" && { sha256: sha256.trim() }),
          ...(id.trim() !== "" && { id: id.trim() }),
        })
      }
    >
      <Field
        name="source"
        label={t("Location of the files")}
        placeholder="https://models.example/bge-small-en.tar.gz"
        hint={t("A folder of models on the server, the address of an archive (.tar.gz, .zip), or hub:OWNER/NAME")}
        value={source}
        onValue={setSource}
        autofocus
      />
      <div class="columns narrow">
        <Field
          name="sha256"
          label={t("SHA-256 of the archive")}
          code
          value={sha256}
          onValue={setSha256}
          hint={t("Optional")}
        />
        <Field
          name="id"
          label={t("Name here")}
          hint={t("Optional. Derived from the source.")}
          value={id}
          onValue={setId}
        />
      </div>
    </Form>
  );
}
