/** Starts the decoder; pdf.js calls what it returns. */
export default function start(options: { readonly warn: (message: string) => void }): Promise<object>;
