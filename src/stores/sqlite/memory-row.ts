// SQL fragments that several statements on memories use. rows/memory.ts converts the rows.

/**
 * SQL expression with the same result as `filteredAttributesJson`, for speed: opening a project needs the attributes of
 * all memories. It concatenates texts because SQLite's JSON functions refuse more than 1,000 levels.
 */
export const FILTERED_ATTRIBUTES = `'{"type":' || json_quote(memories.type) || ',"title":' || json_quote(memories.title)
  || ',"tags":' || ifnull(memories.tags, 'null') || ',"language":' || json_quote(memories.language)
  || ',"source.media_type":' || json_quote(memories.source ->> '$.media_type')
  || ',"externalId":' || json_quote(memories.external_id) || ',"created_at":' || memories.created_at
  || ',"updated_at":' || memories.updated_at || ',"occurred_at":' || ifnull(memories.occurred_at, 'null')
  || ',"memory_id":' || json_quote(memories.id)
  || ',"userId":' || json_quote((SELECT users.id FROM users WHERE users.user_key = memories.user_key))
  || ',"agentId":' || json_quote(memories.agent_id) || ',"sessionId":' || json_quote(memories.session_id)
  || ',"metadata":' || ifnull(memories.metadata, 'null') || '}'`;

/** Subquery for the keys in the parameter `$keys`, which `keyList` makes. */
export const KEYS = "(SELECT value FROM json_each($keys))";

/** Converts any number of keys to one parameter, a JSON array, because SQLite limits the number of parameters. */
export function keyList(keys: readonly bigint[]): string {
  return `[${keys.join(",")}]`;
}
