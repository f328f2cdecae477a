// A field for the id of a user, which suggests the newest users.

import { call } from "../../core/api.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { rights } from "../../core/session.ts";
import { Field } from "../../ui/form.tsx";

const OFFERED = 100;

interface UserFieldProps {
  readonly value: string;
  readonly onValue: (userId: string) => void;
  /** Default: "User". */
  readonly label?: string | undefined;
  readonly placeholder?: string | undefined;
  readonly hint?: string | undefined;
  readonly quiet?: boolean | undefined;
}

/** The field. For a key that may not list users, it has no suggestions. */
export function UserField({ label = t("User"), ...rest }: UserFieldProps) {
  const known = rights.value;
  const mayList = known?.usersRead === true && !known.isConfined;
  const users = useResource(
    async (signal) => (mayList ? (await call("listUsers", { query: { limit: OFFERED }, signal })).data : []),
    [mayList],
  );
  return <Field name="userId" label={label} suggestions={users.value?.map(({ id }) => id) ?? []} {...rest} />;
}
