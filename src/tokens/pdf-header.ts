/** Some programs write a few bytes before it; readers of PDFs look this far. */
const pdfHeadBytes = 1_024;

/** Do the bytes begin as a PDF does, whatever they are declared to be? */
export const isPdf = (base64: string): boolean =>
  Buffer.from(base64.slice(0, Math.ceil((pdfHeadBytes * 4) / 3)), "base64").includes("%PDF-");
