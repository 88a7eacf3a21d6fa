import { extractResponder } from "@palimpsest/simulator";
import type { Fork, ForkOutcome, ForkTask } from "palimpsest/internal/ports/fork";
import { millis } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { userText } from "palimpsest/internal/transcript/user-text";
import { modelDefault } from "../limits.ts";

/** A fork that the rule-based model answers, in text. Of the conversation it is shown what was said, without calls and results. */
export class RuleFork implements Fork {
  readonly model = modelDefault;
  readonly #messages: readonly SpokenMessage[];
  /** What it was asked and answered. */
  readonly exchanges: { readonly directive: string; readonly answer: string }[] = [];

  /** `entries`: the conversation; empty for a fork that sees nothing of it. */
  constructor(entries: readonly Entry[]) {
    this.#messages = entries.flatMap(readSpoken);
  }

  async run({ directive }: ForkTask): Promise<ForkOutcome> {
    const messages = [...this.#messages, { role: "user", content: directive } as const];
    const request = { model: this.model, max_tokens: 8_000, messages };
    const { move } = await extractResponder.respond({ request, purpose: "reply", random: () => 0, now: millis(0) });
    if (move.kind !== "say") return { kind: "failed", message: "It was refused.", usage: [] };
    const answer = move.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
    this.exchanges.push({ directive, answer });
    return { kind: "answered", text: answer, said: [], usage: [] };
  }
}

interface SpokenMessage {
  readonly role: "user" | "assistant";
  readonly content: string;
}

function readSpoken(entry: Entry): readonly SpokenMessage[] {
  if (entry.kind === "assistant") {
    const content = entry.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
    return content.trim() === "" ? [] : [{ role: "assistant", content }];
  }
  const content = userText(entry);
  return content === undefined ? [] : [{ role: "user", content }];
}
