import type { Model } from "palimpsest/internal/schema/model";
import type { AppliedEdit, CompactionReply, InputTransformation } from "palimpsest/internal/schema/wire/reply-message";
import type { CountRequest, MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import { chainBehindCompaction, checkSignedCompaction, type CompactionSeal } from "./compaction/compaction-seal.ts";
import { decidesOnThinking, applyContextEdits, type Placeholders } from "./editing/context-edits.ts";
import { renditionFromMessages } from "./editing/rendition-from-messages.ts";
import { type ModelTraits, modelTraits } from "./prompt/model-traits.ts";
import type { Prompt } from "palimpsest/internal/cache/prompt";
import type { PromptReader } from "./prompt/prompt-reader.ts";
import type { Refusal } from "./refusal.ts";
import type { RequestRendition } from "./prompt/request-rendition.ts";
import { type BindingMode, ThinkingJudge, type ThinkingSeal } from "./prompt/thinking-seal.ts";
import { automaticBreakpoint } from "./validate/check-breakpoints.ts";
import { checkRules } from "./validate/check-rules.ts";

export interface AdmitDeps {
  readonly prompts: PromptReader;
  readonly placeholders: Placeholders;
  readonly seal: ThinkingSeal;
  readonly compactions: CompactionSeal;
  readonly binding: BindingMode;
  readonly isBound: (modelId: string) => boolean;
}

interface AdmitInput {
  readonly endpoint: "messages" | "count_tokens";
  readonly request: MessagesRequest | CountRequest;
  readonly model: Model;
  readonly workspace: string;
  readonly betas: ReadonlySet<string>;
}

export interface AdmittedRequest {
  readonly kind: "admitted";
  /** The prompt that the model is shown. */
  readonly prompt: Prompt;
  /** Undefined if everything is shown as it was sent. */
  readonly rendering: RequestRendition | undefined;
  /** Present if the request asked for edits; `applied` is empty if none was made. */
  readonly edits: { readonly applied: readonly AppliedEdit[]; readonly original: Prompt } | undefined;
  readonly traits: ModelTraits;
  readonly transformations: readonly InputTransformation[];
}

/** Validates a request and turns it into a prompt. Whether it fits the window is checked elsewhere. */
export function admit(deps: AdmitDeps, input: AdmitInput): AdmittedRequest | Refusal {
  const { endpoint, request, model, betas } = input;
  const traits = modelTraits(model);
  const refused = checkRules({ request, model, traits, betas, endpoint });
  if (refused !== undefined) return refused;
  const altered = checkSignedCompaction(deps.compactions, request);
  if (altered !== undefined) return altered;
  const rendition = renditionFromMessages(request, betas);
  const read = readPrompt(deps, { ...input, traits, rendering: rendition });
  if (read.kind === "refused") return read;
  const shown = { prompt: read.prompt, rendering: rendition };
  const promptFor = (rendering: RequestRendition): Prompt => {
    const again = readPrompt(deps, { ...input, traits, rendering });
    if (again.kind === "refused") throw new Error(`got another verdict when read again: ${again.message}`);
    return again.prompt;
  };
  const { placeholders } = deps;
  const edited = applyContextEdits({ request, traits, shown, promptFor, placeholders });
  if (edited === undefined) return { ...read, ...shown, edits: undefined };
  const { applied, prompt, rendering } = edited;
  return { ...read, prompt, rendering, edits: { applied, original: read.prompt } };
}

/**
 * The same request once a compaction block replaces all of its messages: what the model continues from, and its prompt.
 */
export function admitCompacted(
  deps: AdmitDeps,
  { input, admitted, block }: CompactedInput,
): { readonly request: MessagesRequest; readonly admitted: AdmittedRequest } {
  const { type, content, encrypted_content } = block;
  const message = { role: "assistant" as const, content: [{ type, content, encrypted_content }] };
  const request = { ...input.request, messages: [message] };
  const tools = admitted.rendering?.tools;
  const rendering: RequestRendition = {
    from: { message: 0, block: 0 },
    shownByPath: new Map(),
    touched: new Set([0]),
    // Tool changes stay in force, although the messages that made them are no longer shown.
    ...(tools === undefined ? {} : { tools }),
  };
  const read = readPrompt(deps, { ...input, endpoint: "messages", request, traits: admitted.traits, rendering });
  if (read.kind === "refused") throw new Error(`a compaction was refused: ${read.message}`);
  return { request, admitted: { ...admitted, prompt: read.prompt, rendering } };
}

interface CompactedInput {
  readonly input: Omit<AdmitInput, "endpoint"> & { readonly request: MessagesRequest };
  /** The request as it was sent. */
  readonly admitted: AdmittedRequest;
  readonly block: CompactionReply;
}

interface PromptReadInput extends AdmitInput {
  readonly traits: ModelTraits;
  readonly rendering: RequestRendition | undefined;
}

type PromptReadResult = Pick<AdmittedRequest, "kind" | "prompt" | "traits" | "transformations">;

/**
 * Reads the prompt. A request that is read again and rendered differently gets the same verdict: thinking is bound to
 * what was sent.
 */
function readPrompt(
  deps: AdmitDeps,
  { request, model, workspace, betas, traits, rendering }: PromptReadInput,
): PromptReadResult | Refusal {
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
    boundBehind: (block, header) => chainBehindCompaction(deps, { block, header }),
  });
  if (read.kind === "refused") return read;
  return { kind: "admitted", prompt: read.prompt, traits, transformations: judge.transformations };
}
