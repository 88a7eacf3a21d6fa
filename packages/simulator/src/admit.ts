import type { Model } from "palimpsest/internal/schema/model";
import type { AppliedEdit, CompactionReply, InputTransformation } from "palimpsest/internal/schema/wire/reply";
import type { CountRequest, MessagesRequest } from "palimpsest/internal/schema/wire/request";
import { boundBehind, checkSignedCompaction } from "./compaction/come-back.ts";
import type { CompactionSeal } from "./compaction/seal.ts";
import { decidesOnThinking } from "./editing/clear-thinking.ts";
import { contextEdits } from "./editing/context-edits.ts";
import type { Placeholders } from "./editing/placeholders.ts";
import { standingRendering } from "./editing/standing.ts";
import { type ModelTraits, modelTraits } from "./model-traits.ts";
import type { Prompt } from "palimpsest/internal/cache/prompt";
import type { PromptReader } from "./prompt-of.ts";
import type { Refusal } from "./refusal.ts";
import type { Rendering } from "./rendering.ts";
import { type BindingMode, ThinkingJudge, type ThinkingSeal } from "./thinking.ts";
import { automaticBreakpoint } from "./validate/breakpoints.ts";
import { check } from "./validate/rules.ts";

export interface AdmitDeps {
  readonly prompts: PromptReader;
  readonly placeholders: Placeholders;
  readonly seal: ThinkingSeal;
  readonly compactions: CompactionSeal;
  readonly binding: BindingMode;
  readonly isBound: (modelId: string) => boolean;
}

export interface AdmitInput {
  readonly endpoint: "messages" | "count_tokens";
  readonly request: MessagesRequest | CountRequest;
  readonly model: Model;
  readonly workspace: string;
  readonly betas: ReadonlySet<string>;
}

export interface Admitted {
  readonly kind: "admitted";
  /** As the model is shown it. */
  readonly prompt: Prompt;
  /** Undefined where everything is shown as it was sent. */
  readonly rendering: Rendering | undefined;
  /** Where the request asked for edits; empty where none was made. */
  readonly edits: { readonly applied: readonly AppliedEdit[]; readonly original: Prompt } | undefined;
  readonly traits: ModelTraits;
  readonly transformations: readonly InputTransformation[];
}

/** A request that breaks no rule, as a prompt. Whether it fits the window is not asked here. */
export function admit(deps: AdmitDeps, input: AdmitInput): Admitted | Refusal {
  const { endpoint, request, model, betas } = input;
  const traits = modelTraits(model);
  const refused = check({ request, model, traits, betas, endpoint });
  if (refused !== undefined) return refused;
  const altered = checkSignedCompaction(deps.compactions, request);
  if (altered !== undefined) return altered;
  const standing = standingRendering(request, betas);
  const read = readPrompt(deps, { ...input, traits, rendering: standing });
  if (read.kind === "refused") return read;
  const shown = { prompt: read.prompt, rendering: standing };
  const promptOf = (rendering: Rendering): Prompt => {
    const again = readPrompt(deps, { ...input, traits, rendering });
    if (again.kind === "refused") throw new Error(`judged otherwise when read again: ${again.message}`);
    return again.prompt;
  };
  const { placeholders } = deps;
  const edited = contextEdits({ request, traits, shown, promptOf, placeholders });
  if (edited === undefined) return { ...read, ...shown, edits: undefined };
  const { applied, prompt, rendering } = edited;
  return { ...read, prompt, rendering, edits: { applied, original: read.prompt } };
}

/** The same request once a compaction stands for all of its messages: what the model goes on with, and its prompt. */
export function admitCompacted(
  deps: AdmitDeps,
  { input, admitted, block }: CompactedInput,
): { readonly request: MessagesRequest; readonly admitted: Admitted } {
  const { type, content, encrypted_content } = block;
  const message = { role: "assistant" as const, content: [{ type, content, encrypted_content }] };
  const request = { ...input.request, messages: [message] };
  const tools = admitted.rendering?.tools;
  const rendering: Rendering = {
    from: { message: 0, block: 0 },
    shownByPath: new Map(),
    touched: new Set([0]),
    // What changed them stays said, though nobody is shown it any more.
    ...(tools === undefined ? {} : { tools }),
  };
  const read = readPrompt(deps, { ...input, endpoint: "messages", request, traits: admitted.traits, rendering });
  if (read.kind === "refused") throw new Error(`a compaction was refused: ${read.message}`);
  return { request, admitted: { ...admitted, prompt: read.prompt, rendering } };
}

interface CompactedInput {
  readonly input: Omit<AdmitInput, "endpoint"> & { readonly request: MessagesRequest };
  /** As it was sent. */
  readonly admitted: Admitted;
  readonly block: CompactionReply;
}

interface ReadInput extends AdmitInput {
  readonly traits: ModelTraits;
  readonly rendering: Rendering | undefined;
}

type Read = Pick<Admitted, "kind" | "prompt" | "traits" | "transformations">;

/** The same request read again, rendered otherwise, is judged the same: thinking is bound to what was sent. */
function readPrompt(
  deps: AdmitDeps,
  { request, model, workspace, betas, traits, rendering }: ReadInput,
): Read | Refusal {
  const judge = new ThinkingJudge({ ...deps, request, model, mode: deps.binding });
  const read = deps.prompts.read({
    request,
    modelId: model.id,
    workspace,
    betas,
    traits: { ...traits, oldThinking: decidesOnThinking(request) ? "kept" : traits.oldThinking },
    automatic: automaticBreakpoint(request),
    rendering,
    judgeThinking: (place) => judge.judge(place),
    boundBehind: (block, header) => boundBehind(deps, { block, header }),
  });
  if (read.kind === "refused") return read;
  return { kind: "admitted", prompt: read.prompt, traits, transformations: judge.transformations };
}
