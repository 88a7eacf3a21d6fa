import type { BlobsDep } from "../ports/blobs.ts";
import type { ByteRange } from "../ports/transcripts.ts";
import type { LoggedEntry } from "../transcript/read-lines.ts";
import { recentCharsMax } from "./limits.ts";
import { readBlobText, entryTexts, type BlobText } from "./entry-texts.ts";

export interface RecentTextsDeps extends BlobsDep {
  /** Reads a line of the log again by its place, for a text that is no longer in memory. */
  readonly lineAt: (place: ByteRange) => Promise<LoggedEntry | undefined>;
}

/** Where a text is stored: which text of a line it is, or in which blob. */
export type TextPlace =
  | { readonly kind: "line"; readonly place: ByteRange; readonly number: number }
  | { readonly kind: "blob"; readonly blob: BlobText };

/** Texts by number, in the order in which they were added. The newest are kept in memory. */
export class RecentTexts {
  readonly #deps: RecentTextsDeps;
  readonly #charsMax: number;
  readonly #places: TextPlace[] = [];
  readonly #held = new Map<number, string>();
  #chars = 0;

  constructor(deps: RecentTextsDeps, charsMax: number = recentCharsMax) {
    this.#deps = deps;
    this.#charsMax = charsMax;
  }

  add(text: string, place: TextPlace): void {
    this.#held.set(this.#places.length, text);
    this.#places.push(place);
    this.#chars += text.length;
    for (const [oldest, held] of this.#held) {
      if (this.#chars <= this.#charsMax) break;
      this.#chars -= held.length;
      this.#held.delete(oldest);
    }
  }

  /** Undefined if it is gone: a removed blob, a blanked line. */
  async text(number: number): Promise<string | undefined> {
    const held = this.#held.get(number);
    const place = this.#places[number];
    return held ?? (place === undefined ? undefined : await this.#readAgain(place));
  }

  async #readAgain(at: TextPlace): Promise<string | undefined> {
    switch (at.kind) {
      case "line": {
        const logged = await this.#deps.lineAt(at.place);
        return logged === undefined ? undefined : entryTexts(logged.entry)[at.number]?.text;
      }
      case "blob": {
        const bytes = await this.#deps.blobs.get(at.blob.blob);
        return bytes === undefined ? undefined : readBlobText(at.blob, bytes).text;
      }
    }
  }
}
