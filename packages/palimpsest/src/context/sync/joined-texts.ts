import type { Entry } from "../../schema/entry.ts";
import { isThinking } from "../../transcript/to-wire-block.ts";
import type { HiddenCalls } from "./hidden-calls.ts";

/**
 * Texts of one reply for the caller, between which the model made calls that the caller never saw. Where a message has one
 * text (chat completions), the caller lists them as one: then its text is read as the texts that it was made of.
 */
export class JoinedTexts {
  readonly #hidden: HiddenCalls;
  readonly #digest: (text: string) => string;
  readonly #textsByDigest = new Map<string, readonly string[]>();
  /** The texts of the reply so far. */
  #texts: string[] = [];
  #hasHidden = false;

  constructor(hidden: HiddenCalls, digest: (text: string) => string) {
    this.#hidden = hidden;
    this.#digest = digest;
  }

  /** The texts that were joined to the one with this digest. */
  find(digest: string): readonly string[] | undefined {
    return this.#textsByDigest.get(digest);
  }

  /** The next entry of the log. Its hidden calls are known. */
  add(entry: Entry): void {
    if (entry.kind === "user") {
      const isSaid = !entry.meta && !entry.summary;
      if (isSaid && !entry.blocks.every((block) => this.#hidden.holds(block))) this.endReply();
    } else if (entry.kind === "assistant" && !entry.synthetic)
      for (const block of entry.blocks) {
        if (block.type === "text") this.#addText(block.text);
        else if (this.#hidden.holds(block)) this.#hasHidden = true;
        else if (!isThinking(block)) this.endReply();
      }
  }

  /** The caller has its reply: the next text is another one's. */
  endReply(): void {
    this.#texts = [];
    this.#hasHidden = false;
  }

  #addText(text: string): void {
    this.#texts.push(text);
    if (this.#hasHidden && this.#texts.length > 1)
      this.#textsByDigest.set(this.#digest(this.#texts.join("")), [...this.#texts]);
  }
}
