import { createHash } from "node:crypto";
import type { Media } from "palimpsest/internal/export/source-log";

const extensionByType: ReadonlyMap<string, string> = new Map([
  ["image/png", "png"],
  ["image/jpeg", "jpg"],
  ["image/gif", "gif"],
  ["image/webp", "webp"],
  ["application/pdf", "pdf"],
]);

const nameDigits = 16;

/** Images and documents of an export as files beside it, the same bytes once. Held until the export itself is written. */
export class MediaFiles {
  readonly #folder: string;
  readonly #dataByName = new Map<string, Buffer>();

  /** `folder`: as the export names it, relative to itself. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  get files(): ReadonlyMap<string, Buffer> {
    return this.#dataByName;
  }

  /** The link to it. */
  place({ mediaType, base64 }: Media): string {
    const data = Buffer.from(base64, "base64");
    const hash = createHash("sha256").update(data).digest("hex").slice(0, nameDigits);
    const name = `${hash}.${extensionByType.get(mediaType) ?? "bin"}`;
    this.#dataByName.set(name, data);
    return `${encodeURIComponent(this.#folder)}/${name}`;
  }
}
