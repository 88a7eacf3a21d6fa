import type { Model } from "palimpsest/internal/schema/model";
import type { AppliedEdit, CompactionReply, InputTransformation } from "palimpsest/internal/schema/wire/reply-message";
import type { CountRequest, MessagesRequest, WireMessage } from "palimpsest/internal/schema/wire/messages-request";
import { chainBehindCompaction, checkSignedCompaction, type CompactionSeal } from "./compaction/compaction-seal.ts";
import { decidesOnThinking, applyContextEdits, type Placeholders } from "./editing/context-edits.ts";
import { type ModelTraits, modelTraits } from "./prompt/model-traits.ts";
import type { Prompt } from "palimpsest/internal/cache/prompt";
import type { PromptReader } from "./prompt/prompt-reader.ts";
import type { Refusal } from "./refusal.ts";
import type { RequestRendition } from "./prompt/request-rendition.ts";
import { type BindingMode, ThinkingJudge, type ThinkingSeal } from "./prompt/thinking-seal.ts";
import { automaticBreakpoint } from "./validate/check-breakpoints.ts";
import { checkRules } from "./validate/check-rules.ts";
import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";
import type { WireTool } from "palimpsest/internal/schema/wire/wire-tool";
import { hasCompactionBeta, isFailedCompaction, findLastCompaction } from "./compaction/compaction-block.ts";
import { mayChangeTools, type ToolStep, toolSteps } from "./prompt/tool-set.ts";
import { clearAtBeta } from "./validate/check-roles.ts";

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

/**
 * What the messages themselves say about how they are shown: compaction blocks, expired reminders, and tools that are
 * added and removed. Each needs its beta: without one nothing is examined.
 */
function renditionFromMessages(
  request: MessagesRequest | CountRequest,
  betas: ReadonlySet<string>,
): RequestRendition | undefined {
  const from = hasCompactionBeta(betas) ? findLastCompaction(request.messages) : undefined;
  const failed = hasCompactionBeta(betas) ? hideFailedCompactions(request.messages, from?.message ?? 0) : [];
  const over = betas.has(clearAtBeta) ? hideClearedTexts(request.messages) : [];
  const changed = mayChangeTools(betas) ? findChangedTools(request) : undefined;
  if (from === undefined && failed.length === 0 && over.length === 0 && changed === undefined) return undefined;
  const shown = [...failed, ...over, ...(changed?.loaded ?? [])];
  return {
    ...(from === undefined ? {} : { from }),
    shownByPath: new Map(shown.map(({ path, block }) => [path, block])),
    touched: new Set([...(from ? [from.message] : []), ...shown.map(({ message }) => message)]),
    ...(changed === undefined ? {} : { tools: changed.tools }),
  };
}

interface BlockOverride {
  readonly message: number;
  readonly path: string;
  readonly block: WireBlock | "hidden";
}

/** `from`: the first message to examine. */
function hideFailedCompactions(messages: readonly WireMessage[], from: number): readonly BlockOverride[] {
  const failed: BlockOverride[] = [];
  for (let message = from; message < messages.length; message += 1) {
    const content = messages[message]?.content ?? "";
    if (typeof content === "string") continue;
    for (const [index, block] of content.entries())
      if (isFailedCompaction(block))
        failed.push({ message, path: `messages.${message}.content.${index}`, block: "hidden" });
  }
  return failed;
}

/**
 * Hides the texts of system messages that were to be shown only until the user speaks again; results of calls count as
 * a user message too. What such a message did to the tools stays in force.
 */
function hideClearedTexts(messages: readonly WireMessage[]): readonly BlockOverride[] {
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  return messages.flatMap(({ role, clear_at: clearAt, content }, message) => {
    if (role !== "system" || clearAt !== "next_user_message" || message > lastUser) return [];
    const types = typeof content === "string" ? ["text"] : content.map(({ type }) => type);
    return types.flatMap((type, index): readonly BlockOverride[] =>
      type === "text" ? [{ message, path: `messages.${message}.content.${index}`, block: "hidden" }] : [],
    );
  });
}

interface ChangedTools {
  readonly tools: readonly WireTool[];
  /** Blocks that refer to deferred tools: the model reads the whole definition there. */
  readonly loaded: readonly BlockOverride[];
}

function findChangedTools(request: MessagesRequest | CountRequest): ChangedTools | undefined {
  const loadedByPath = new Map<string, BlockOverride & { readonly block: WireBlock }>();
  let last: ToolStep | undefined;
  for (const step of toolSteps(request)) {
    last = step;
    const { outcome, message, holder } = step;
    if (outcome.kind !== "loaded") continue;
    const { path } = holder;
    const block = withDefinition(loadedByPath.get(path)?.block ?? holder.block, { step, tool: outcome.tool });
    loadedByPath.set(path, { message, path, block });
  }
  return last === undefined ? undefined : { tools: last.tools.offered, loaded: [...loadedByPath.values()] };
}

/** The block that makes the change, or the compaction that lists it, with the definition in place of the reference. */
function withDefinition(
  holder: WireBlock,
  { step, tool }: { readonly step: ToolStep; readonly tool: WireTool },
): WireBlock {
  const defined = { type: "tool_addition", tool: { type: "tool_definition", definition: tool } } as const;
  return holder.type === "compaction"
    ? { ...holder, tool_changes: (holder.tool_changes ?? []).map((one) => (one === step.change ? defined : one)) }
    : defined;
}
