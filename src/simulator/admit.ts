import type { Model } from "../schema/model.ts";
import type { InputTransformation } from "../schema/wire/reply.ts";
import type { CountRequest, MessagesRequest } from "../schema/wire/request.ts";
import { type ModelTraits, modelTraits } from "./model-traits.ts";
import type { Prompt } from "./prompt.ts";
import type { PromptReader } from "./prompt-of.ts";
import type { Refusal } from "./refusal.ts";
import { type BindingMode, ThinkingJudge, type ThinkingSeal } from "./thinking.ts";
import { keepsOldThinking } from "./validate/betas.ts";
import { automaticBreakpoint } from "./validate/breakpoints.ts";
import { check } from "./validate/rules.ts";

export interface AdmitDeps {
  readonly prompts: PromptReader;
  readonly seal: ThinkingSeal;
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
  readonly prompt: Prompt;
  readonly traits: ModelTraits;
  readonly transformations: readonly InputTransformation[];
}

/** A request that breaks no rule, as a prompt. Whether it fits the window is not asked here. */
export function admit(deps: AdmitDeps, input: AdmitInput): Admitted | Refusal {
  const { endpoint, request, model, workspace, betas } = input;
  const traits = modelTraits(model);
  const refused = check({ request, model, traits, betas, endpoint });
  if (refused !== undefined) return refused;
  const judge = new ThinkingJudge({ ...deps, request, model, mode: deps.binding });
  const read = deps.prompts.read({
    request,
    modelId: model.id,
    workspace,
    betas,
    traits: { ...traits, oldThinking: oldThinkingOf(input, traits) },
    automatic: automaticBreakpoint(request),
    judgeThinking: (place) => judge.judge(place),
  });
  if (read.kind === "refused") return read;
  return { kind: "admitted", prompt: read.prompt, traits, transformations: judge.transformations };
}

const oldThinkingOf = ({ request }: AdmitInput, traits: ModelTraits): ModelTraits["oldThinking"] =>
  keepsOldThinking(request) ? "kept" : traits.oldThinking;
