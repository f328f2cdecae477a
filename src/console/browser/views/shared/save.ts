// Offers a text or file as a download.

/** Makes the browser download a text. `type` is its media type. */
export function save(name: string, type: string, text: string): void {
  saveFile(name, new Blob([text], { type }));
}

/** Makes the browser download a file. */
export function saveFile(name: string, file: Blob): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
