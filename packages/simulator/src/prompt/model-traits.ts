import type { Model } from "palimpsest/internal/schema/model";
import { modelName, type ToolOverhead, toolOverhead } from "palimpsest/internal/tokens/known-models";

/** How the API differs from model to model, beyond windows and prices. */
export interface ModelTraits {
  /** Whether the last message may be the assistant's. */
  readonly prefill: "allowed" | "refused";
  /** Kinds of `thinking` that the model accepts. */
  readonly thinkingTypes: readonly ("enabled" | "adaptive" | "between_tools" | "disabled")[];
  /** If input + max_tokens exceeds the window: the reply stops at the window, or the request is refused. */
  readonly overflow: "stops" | "refused";
  /** Whether `role: "system"` is allowed inside `messages`. */
  readonly systemMessages: "allowed" | "refused";
  /** Whether `tool_choice` may be any or tool. */
  readonly forcedTools: "allowed" | "refused";
  /** `stripped`: thinking of earlier turns leaves the prompt once the user speaks again. */
  readonly oldThinking: "kept" | "stripped";
  /** `bound`: thinking is valid only after the prefix that it was made with. */
  readonly binding: Model["thinking"];
  /** Compaction on the server, at a threshold and on demand. */
  readonly compaction: "allowed" | "refused";
  /** Images and document pages in one request. */
  readonly imagesMax: number;
  /** Tokens for the same text, relative to the oldest tokenizer. */
  readonly tokenizerFactor: number;
  /** Tokens that the presence of tools adds to the prompt, by whether a tool is forced. */
  readonly toolTokens: ToolOverhead;
}

export function modelTraits(model: Model): ModelTraits {
  const { line, version } = modelName(model.id);
  const since = (from: number): boolean => version >= from;
  return {
    prefill: since(4.06) ? "refused" : "allowed",
    thinkingTypes: thinkingTypes(version),
    overflow: since(4.05) ? "stops" : "refused",
    systemMessages: takesSystemMessages(line, version) ? "allowed" : "refused",
    forcedTools: model.thinking === "bound" ? "refused" : "allowed",
    oldThinking: stripsThinking(line, version) ? "stripped" : "kept",
    binding: model.thinking,
    compaction: compacts(line, version) ? "allowed" : "refused",
    imagesMax: model.windowTokens > 200_000 ? 600 : 100,
    tokenizerFactor: since(4.07) ? 1.3 : 1,
    toolTokens: toolOverhead(model.id),
  };
}

function thinkingTypes(version: number): ModelTraits["thinkingTypes"] {
  if (version >= 4.07) return ["adaptive", "between_tools", "disabled"];
  return version >= 4.06 ? ["enabled", "adaptive", "disabled"] : ["enabled", "disabled"];
}

/** Documented for Fable 5, Mythos 5, Opus 4.8 and Opus 5, and not for Sonnet 5; later models are assumed to have it. */
function takesSystemMessages(line: string, version: number): boolean {
  if (line === "opus") return version >= 4.08;
  return line === "sonnet" || line === "haiku" ? version > 5 : version >= 5;
}

function stripsThinking(line: string, version: number): boolean {
  if (line === "haiku") return version <= 4.05;
  return version < (line === "sonnet" ? 4.06 : 4.05);
}

/** Documented for Opus and Sonnet since 4.6, Fable and Mythos since 5, and Haiku since 5.5. */
function compacts(line: string, version: number): boolean {
  if (line === "haiku") return version >= 5.05;
  return version >= (line === "opus" || line === "sonnet" ? 4.06 : 5);
}
