// Entity tags of HTTP (RFC 9110, 8.8.3).

/**
 * Whether a list of entity tags, or `*`, names this one, as `If-None-Match` compares them: weak tags count as strong
 * ones (RFC 9110, 8.8.3.2).
 * @param etag strong, with its quotes
 */
export function namesTag(list: string, etag: string): boolean {
  if (list.trim() === "*") return true;
  const tags: readonly string[] = list.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return tags.some((each) => each.replace(/^W\//, "") === etag);
}
