/** What a terminal puts around a paste, once it was asked to. */
export const pasteStart = "\u001B[200~";
export const pasteEnd = "\u001B[201~";
