// Signing in: a person pastes a key, which stays in this tab only.

import { useState } from "preact/hooks";
import { refusedKey } from "../core/api.ts";
import { t } from "../core/i18n.ts";
import { server } from "../core/server.ts";
import { signIn } from "../core/session.ts";
import { Field, Form } from "../ui/form.tsx";
import { ArrowRight } from "../ui/icons.ts";
import { Problem } from "../ui/states.tsx";
import { Mark } from "./mark.tsx";

/** The page for people without a key in this tab. */
export function SignIn() {
  const [key, setKey] = useState("");
  return (
    <main id="main" class="welcome" tabIndex={-1}>
      <div class="welcome-box">
        <div class="welcome-mark">
          <Mark size={56} />
          <h1>{t("Sign in to Mneme")}</h1>
        </div>
        <div class="card">
          {refusedKey.value !== null && <Problem error={refusedKey.value} />}
          {server.value.state === "unreachable" && <p class="fine">{t("The server does not answer at the moment.")}</p>}
          <Form
            label={t("Sign in")}
            verb={t("Sign in")}
            icon={ArrowRight}
            send={async () => {
              await signIn(/ctx_[\w-]+/.exec(key)?.[0] ?? key.trim()); // a whole line of the log has a key, too
              // the form, which had the focus, has left the page
              requestAnimationFrame(() => document.getElementById("main")?.focus());
            }}
          >
            <Field
              name="key"
              label={t("API key")}
              type="password"
              value={key}
              onValue={setKey}
              placeholder="ctx_…"
              hint={t("Kept in this tab only, and forgotten when you close it.")}
            />
          </Form>
        </div>
        <p class="fine">
          {t("The first key is in the log of the server's first start.")} <a href="docs">{t("API reference")}</a>
        </p>
      </div>
    </main>
  );
}
