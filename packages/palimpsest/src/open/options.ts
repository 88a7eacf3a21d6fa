import type { Provider } from "../context/provider-formats.ts";
import type { SystemOption, ToolOption } from "../context/inputs.ts";
import type { ContextEvent } from "../context/outcomes.ts";
import type { Summarizer } from "../context/summarizer.ts";
import type { EditApproval } from "../context/request/edit-approvals.ts";
import type { Policy } from "../layers/policy.ts";
import type { RankMemories } from "../memory/directory/relevant-memories.ts";
import type { Hooks } from "../ports/hooks.ts";
import type { SecretScanner } from "../ports/secret-scanner.ts";
import type { Store } from "../ports/store.ts";
import type { WorkingTree } from "../ports/working-tree.ts";
import type { PlannedEdit } from "../schema/loop-event.ts";
import type { PolicyName, SavingLevel } from "../schema/policy-names.ts";
import type { CountText } from "../tokens/text-counter.ts";

export interface ContextOptions<P extends Provider = "anthropic"> {
  /** The provider's name of the model. */
  readonly model: string;
  /** Decides the format of requests and replies. */
  readonly provider?: P;
  readonly system?: SystemOption;
  /** In the format of the Messages API, for every provider: name, description, input_schema. */
  readonly tools?: readonly ToolOption[];
  /**
   * Tools whose calls the caller answers itself, by `toolResult`, and leaves out of the lists that it hands to `sync`. The
   * requests hold them.
   */
  readonly hiddenTools?: readonly string[];
  /** In the format of the Messages API. */
  readonly thinking?: { readonly type: string };
  /** The model's window; by default what is known about the model. A function is asked again for each request. */
  readonly contextTokens?: number | ((model: string) => number | undefined);
  /** The limit of one reply. A function is asked again for each request. */
  readonly outputTokensMax?: number | (() => number | undefined);
  /** The session's name: resumed if the store has it, else created. By default a new session. */
  readonly session?: string;
  /** By default in memory. */
  readonly store?: Store;
  /** The name of a preset, or a policy of your own: see `getPreset`. */
  readonly policy?: PolicyName | Policy;
  /** How readily the policy `palimpsest` edits the view to save money. Not with another policy. By default `balanced`. */
  readonly saving?: SavingLevel;
  /** Writes summaries. By default they are made without a model, from the messages. */
  readonly summarizer?: Summarizer<P>;
  readonly hooks?: Hooks;
  /** Counts a text with your own tokenizer, in place of our estimate. The provider's counts are not affected. */
  readonly tokenCounter?: CountText;
  /**
   * Asked before each edit that is made only because it pays, and costs something now. `next()` waits for the answer,
   * so it must not call the context. Must not reject. By default every such edit is made.
   */
  readonly approveEdit?: (edit: PlannedEdit, signal: AbortSignal) => Promise<EditApproval>;
  /** What memories are checked against: `fileWorkingTree(…)`. By default nothing in them is flagged. */
  readonly workingTree?: WorkingTree;
  /** Which memories have to do with a message, best first. By default those with words in common; no model is asked. */
  readonly rankMemories?: RankMemories;
  /**
   * Work beside the conversation, by forks of it: off by default. Needs a store with memories and a `summarizer` that is a
   * function, which answers the forks.
   */
  readonly background?: BackgroundOptions;
  readonly onEvent?: (event: ContextEvent) => void;
  /**
   * `redact`: keys, tokens and passwords in messages, results, replies and the system prompt are stored as
   * `[secret: <kind>]`, and that is what requests hold; an event says how many. Signed blocks stay as they are. By
   * default `keep`: the store is yours.
   */
  readonly secrets?: "keep" | "redact";
  /** Finds secrets. By default the engine's own rules. */
  readonly secretScanner?: SecretScanner;
  /** In milliseconds. */
  readonly clock?: () => number;
  readonly ids?: () => string;
}

export interface BackgroundOptions {
  /** Memories are extracted when a turn ends and the policy's rule wants it; `close()` waits for it, at most 10 seconds. */
  readonly extraction?: "on" | "off";
  /** Memories are consolidated when a turn ends, once a day at most and after five other sessions; `context.dream()` does it now. */
  readonly dream?: "on" | "off";
}
