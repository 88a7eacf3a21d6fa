import type { CompactionPath } from "palimpsest/internal/schema/compaction";
import type { CompactionPhase } from "palimpsest/internal/schema/event";

/** What produced a summary, for a line of text. */
export const wordsByPath: Readonly<Record<CompactionPath, string>> = {
  notes: "by the notes",
  fork: "by a fork of the conversation",
  stream: "by a call of its own",
  server: "by the server",
  extractive: "without a model",
  given: "by you",
};

/** What goes on while a summary is made. */
export const wordsByPhase: Readonly<Record<CompactionPhase, string>> = {
  hooks: "asking the hooks",
  server: "the provider summarises",
  fork: "the model summarises",
  stream: "the model summarises, in a call of its own",
  extract: "putting a summary together without a model",
  restore: "putting back what the agent works with",
};
