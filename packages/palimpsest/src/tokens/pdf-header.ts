import { decodedHead } from "./image-header.ts";
import { pdfHeadBytes } from "./limits.ts";

/** Do the bytes begin as a PDF does, whatever they are declared to be? */
export const isPdf = (base64: string): boolean => decodedHead(base64, pdfHeadBytes).includes("%PDF-");
