import { z } from "zod";
import type { SettingRow } from "./setting-row.ts";

const durabilities = ["always", "turn", "never"] as const;
/** How memories are found that fit a message. */
const memoryRecalls = ["local", "model", "off"] as const;
export type MemoryRecall = (typeof memoryRecalls)[number];

export interface StorageSettings {
  readonly durability: (typeof durabilities)[number];
  readonly retentionDays: number | undefined;
  readonly secrets: "keep" | "redact";
  readonly memoryRecall: MemoryRecall;
}

/** The settings about what is kept on disk, and what comes back from there. */
export const storageRows: { readonly [Name in keyof StorageSettings]: SettingRow<StorageSettings[Name]> } = {
  durability: {
    shape: z.enum(durabilities),
    expects: "always, turn or never",
    type: "text",
    default: "turn",
    environment: ["PALIMPSEST_DURABILITY"],
    flag: "durability",
    byProject: "nothing",
    about:
      "When a transcript is synced to disk: at every append, at the end of a turn, or never; from the next start on.",
    basis: "ours",
  },
  retentionDays: {
    shape: z.int().min(1).max(36_500),
    expects: "a whole number of days from 1 to 36,500, or nothing to keep sessions forever",
    type: "number",
    default: undefined,
    defaultSays: "keep forever",
    environment: ["PALIMPSEST_RETENTION_DAYS"],
    byProject: "yours",
    about:
      "When a session starts, sessions of every project that were not used for this many days are deleted, except open ones and those that you named. Only in your own file.",
    basis: "ours",
  },
  secrets: {
    shape: z.enum(["keep", "redact"]),
    expects: "keep or redact",
    type: "text",
    default: "keep",
    environment: ["PALIMPSEST_SECRETS"],
    flag: "secrets",
    byProject: "nothing",
    about: "keep: keys and passwords stay in the session. redact: [secret: …] is stored and sent instead.",
    basis: "ours",
  },
  memoryRecall: {
    shape: z.enum(memoryRecalls),
    expects: `one of ${memoryRecalls.join(", ")}`,
    type: "text",
    default: "local",
    environment: ["PALIMPSEST_MEMORY_RECALL"],
    flag: "memory-recall",
    byProject: { narrows: (value) => value === "off", says: "off" },
    about:
      "Memories that fit your message are shown to the model with it: found by their words on this machine, chosen by a small model of the provider, or none.",
    basis: "published",
  },
};
