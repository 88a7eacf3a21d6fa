import { createHash } from "node:crypto";
import { fileNameCharsMax } from "../limits.ts";

/** A name from outside as a file name that stays in its folder. Names that had to be changed get a hash, so two of them do not meet. */
export function safeFileName(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_.-]/g, "-").replace(/^\./, "-");
  if (plain === name && name !== "" && name.length <= fileNameCharsMax) return name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 12);
  return `${plain.slice(0, fileNameCharsMax - hash.length - 1)}-${hash}`;
}
