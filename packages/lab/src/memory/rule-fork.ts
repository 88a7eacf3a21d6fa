import { extractResponder } from "@palimpsest/simulator";
import type { Fork, ForkOutcome, ForkTask } from "palimpsest/internal/ports/fork";
import type { Entry } from "palimpsest/internal/schema/entry";
import { millis } from "palimpsest/internal/schema/brand";
import { userText } from "palimpsest/internal/transcript/user-text";
import { modelDefault } from "../limits.ts";

/** A fork of a recorded conversation that the rule-based model answers, in text. It is shown what was said, without calls and results. */
export class RuleFork implements Fork {
  readonly model = modelDefault;
  readonly #messages: readonly SpokenMessage[];
  requests = 0;

  /** `entries`: the conversation; empty for a fork that sees none of it. */
  constructor(entries: readonly Entry[]) {
    this.#messages = entries.flatMap(readSpoken);
  }

  async run({ directive }: ForkTask): Promise<ForkOutcome> {
    this.requests += 1;
    const messages = [...this.#messages, { role: "user", content: directive } as const];
    const request = { model: this.model, max_tokens: 8_000, messages };
    const random = (): number => 0;
    const { move } = await extractResponder.respond({ request, purpose: "reply", random, now: millis(0) });
    if (move.kind !== "say") return { kind: "failed", message: "It was refused.", usage: [] };
    const text = move.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
    return { kind: "answered", text, said: [], usage: [] };
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
