// Saves a text or file as a file of the person's computer.

/** Lets the browser save a text. */
export function save(name: string, type: string, text: string): void {
  saveFile(name, new Blob([text], { type }));
}

/** Lets the browser save a file. */
export function saveFile(name: string, file: Blob): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
