// Treats a missing file as null: `readFile(path).catch(nullIfMissing)`.

/** Returns null if the error says that a file does not exist. Throws any other error. */
export function nullIfMissing(error: unknown): null {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
  throw error;
}
