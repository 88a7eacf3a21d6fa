import type { PromptChoice, PromptFamily } from "palimpsest/internal/schema/prompt-choice";
import { promptOf } from "./prompt.ts";

/** Beginnings of model names, without what a gateway or a cloud puts in front of them. */
const families: readonly { readonly id: string; readonly family: PromptFamily }[] = [
  { id: "claude", family: "claude" },
  { id: "gpt", family: "gpt" },
  { id: "chatgpt", family: "gpt" },
  { id: "codex", family: "gpt" },
  { id: "o1", family: "gpt" },
  { id: "o3", family: "gpt" },
  { id: "o4", family: "gpt" },
  { id: "gemini", family: "gemini" },
  { id: "gemma", family: "gemini" },
];

/** The text for a model. Users' choices count before ours; of several the longest beginning that fits. */
export function choosePrompt(model: string, choices: readonly PromptChoice[]): string {
  const chosen = longestFor(model, choices);
  if (chosen?.text !== undefined) return chosen.text;
  return promptOf(chosen?.family ?? longestFor(model, families)?.family ?? "other");
}

function longestFor<Of extends { readonly id: string }>(model: string, rows: readonly Of[]): Of | undefined {
  const names = [model, model.replace(servedBy, "")].map((name) => name.toLowerCase());
  return rows
    .filter(({ id }) => names.some((name) => name.startsWith(id.toLowerCase())))
    .toSorted((one, other) => other.id.length - one.id.length)[0];
}

/** `anthropic/claude-…`, `us.anthropic.claude-…`. */
const servedBy = /^(?:[\w-]+\/)*(?:(?:us|eu|apac|global)\.)?(?:anthropic\.)?/;
