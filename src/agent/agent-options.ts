import type { SessionId } from "../schema/brand.ts";
import type { FlagInput } from "../settings/flags.ts";
import type { ModelChoice } from "./model-choice.ts";
import type { ToolWishes } from "./tool-choice.ts";

export interface AgentOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
  readonly flags: readonly FlagInput[];
  readonly session: SessionChoice;
  readonly model: ModelChoice;
  readonly tools: ToolWishes;
  /** `one`: it is closed when its first turn is over, so nothing is begun then that would only be stopped. Absent: many. */
  readonly turns?: "one" | "many";
}

export type SessionChoice =
  | { readonly kind: "new" }
  | { readonly kind: "resume"; readonly id: SessionId }
  /** A session of its own that begins with everything the named one holds. */
  | { readonly kind: "fork"; readonly id: SessionId };
