// Bodies whose texts are kept in files until they are published.

/**
 * JSON body of a memory in which each UTF-16 code unit of the content is an escape, and which ends with 1 MiB of white
 * space. A content of more than 11,000 characters is then long enough to be kept in a file.
 */
export function escapedBody(content: string, metadata: object = {}): string {
  const escapes = Array.from({ length: content.length }, (_, at) => {
    return `\\u${content.charCodeAt(at).toString(16).padStart(4, "0")}`;
  });
  return `{"content":"${escapes.join("")}","metadata":${JSON.stringify(metadata)}}${" ".repeat(1024 * 1024)}`;
}
