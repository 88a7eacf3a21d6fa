import type { Provider } from "../context/provider-formats.ts";
import type { ToolOption } from "../context/inputs.ts";
import type { ContextEvent } from "../context/outcomes.ts";
import type { Summarizer } from "../context/summarizer.ts";
import type { Policy } from "../layers/policy.ts";
import type { Hooks } from "../ports/hooks.ts";
import type { Store } from "../ports/store.ts";
import type { PolicyName } from "../schema/setting-table.ts";
import type { CountText } from "../tokens/text-counter.ts";

export interface ContextOptions<P extends Provider = "anthropic"> {
  /** As the provider calls it. */
  readonly model: string;
  /** Whose form requests and replies have. */
  readonly provider?: P;
  readonly system?: string | readonly (string | { readonly type: "text"; readonly text: string })[];
  /** In the form of the Messages API, whoever the provider is: name, description, input_schema. */
  readonly tools?: readonly ToolOption[];
  /** As the Messages API takes it. */
  readonly thinking?: { readonly type: string };
  /** The model's window; what is known of the model where it is absent. */
  readonly contextTokens?: number;
  /** Of one reply. */
  readonly outputTokensMax?: number;
  /** Opened again where the store has it, else begun under this name. Absent: a new one. */
  readonly session?: string;
  /** Absent: in memory. */
  readonly store?: Store;
  /** One of the presets by its name, or one of your own: see `preset`. */
  readonly policy?: PolicyName | Policy;
  /** Who writes summaries. Absent: they are made without a model, from what was said. */
  readonly summarizer?: Summarizer<P>;
  readonly hooks?: Hooks;
  /** The tokens of a text by a tokenizer of your own, in place of our estimate. Whatever the provider has counted stays as it is. */
  readonly tokenCounter?: CountText;
  readonly onEvent?: (event: ContextEvent) => void;
  /** In milliseconds. */
  readonly clock?: () => number;
  readonly ids?: () => string;
}
