// Media types in headers (RFC 9110, 8.3.1).

/** The media type in a `Content-Type` without its parameters, in lower case; empty if the header is empty. */
export function mediaTypeIn(contentType: string): string {
  const [type = ""] = contentType.split(";", 1);
  return type.trim().toLowerCase();
}
