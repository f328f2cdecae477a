// Entry point of child processes: the hidden subcommand `child <kind> <socket>`. The children `document` and `ocr` have
// no socket. Each kind loads only the code that it needs: a lane loads no text preparation, a preparation process no
// models.
import { CHILD_KINDS, type ChildKind } from "./command.ts";
import { ChildRefusal, REFUSED_EXIT_CODE } from "./serve.ts";

/**
 * Runs a child. One with a socket ends when its server closes the connection or dies; `document` and `ocr` end after
 * their file.
 * @param args arguments after `child`: the kind, and the socket path (none for `document` and `ocr`)
 */
export async function runChildProcess(args: readonly string[]): Promise<void> {
  const [kind, socketPath] = args;
  if (!isChildKind(kind) || (socketPath === undefined && kind !== "document" && kind !== "ocr")) {
    process.stderr.write(
      `usage: mneme child <${CHILD_KINDS.join("|")}> <socket>\nThis is an internal command that the server runs.\n`,
    );
    process.exit(2);
  }
  // Children ignore these signals: Ctrl-C and service managers send them to the whole process group. The server
  // finishes its requests first, and a child ends when the server closes its connection.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => undefined);
  try {
    await run(kind, socketPath ?? "");
    process.exit(0); // handles that a document reader left open would keep the process alive
  } catch (error) {
    if (!(error instanceof ChildRefusal)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(REFUSED_EXIT_CODE);
  }
}

function isChildKind(text: string | undefined): text is ChildKind {
  return CHILD_KINDS.some((kind) => kind === text);
}

async function run(kind: ChildKind, socketPath: string): Promise<void> {
  switch (kind) {
    case "lane":
      return (await import("../adapters/inference/lane.ts")).runLane(socketPath);
    case "preparation":
      return (await import("../preparation/preparation-child.ts")).runPreparationChild(socketPath);
    case "document":
      return (await import("../documents/document-child.ts")).runDocumentChild();
    case "ocr":
      return (await import("../adapters/ocr/ocr-child.ts")).runOcrChild();
  }
}
