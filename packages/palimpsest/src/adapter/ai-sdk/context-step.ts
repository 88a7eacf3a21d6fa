import type { Instructions, LanguageModel, ModelMessage } from "ai";
import type { Context } from "../../context/context.ts";
import { AdapterContext, type AdapterOptions } from "../shared/adapter-context.ts";
import { chooseMarks } from "./cache-marks.ts";
import { encodeMessage, type PartOf, toMessage } from "./prompt-message.ts";
import { joinTexts, type PromptDraft, writePrompt } from "./write-prompt.ts";

type Part = PartOf<ModelMessage>;

interface Step {
  readonly model: LanguageModel;
  readonly instructions: Instructions | undefined;
  readonly initialMessages: ModelMessage[];
  readonly responseMessages: ModelMessage[];
}

export interface ContextStep {
  /** For `generateText`, `streamText` and agents. */
  readonly prepareStep: (step: Step) => Promise<{ messages: ModelMessage[] }>;
  /** The conversation's context, once the first step is prepared. */
  readonly context: Promise<Context<"anthropic">>;
  /** Closes its session. */
  readonly closeContext: () => Promise<void>;
}

/**
 * Makes each step's messages fit, where the model can't be wrapped. It sees neither the tools nor the usage of replies, so
 * prefer `contextMiddleware`; `contextTokens` should leave room for the tools.
 */
export function contextStep(options: AdapterOptions<"anthropic"> = {}): ContextStep {
  const adapter = new AdapterContext("anthropic", options);
  return {
    context: adapter.context,
    closeContext: () => adapter.close(),
    prepareStep: async ({ model, instructions, initialMessages, responseMessages }) => {
      // Not `messages`: an earlier step's override is carried forward there, and the context knows the originals.
      const given = [...initialMessages, ...responseMessages].map((message) =>
        encodeMessage<ModelMessage, Part>(message),
      );
      const prepared = await adapter.sync({
        model: typeof model === "string" ? model : model.modelId,
        system: readInstructions(instructions),
        tools: [],
        messages: given.map(toMessage),
      });
      const marks = typeof model === "string" ? "none" : chooseMarks(model);
      return { messages: writePrompt(prepared, { given, marks, write: writeMessage }) };
    },
  };
}

const readInstructions = (instructions: Instructions | undefined): readonly string[] => {
  if (instructions === undefined) return [];
  if (typeof instructions === "string") return [instructions];
  return (Array.isArray(instructions) ? instructions : [instructions]).map(({ content }) => content);
};

function writeMessage({ role, source, parts }: PromptDraft<ModelMessage, Part>): ModelMessage {
  const options = source?.providerOptions === undefined ? {} : { providerOptions: source.providerOptions };
  switch (role) {
    case "system":
      return { role, content: joinTexts(parts), ...options };
    case "user": {
      const content = parts.filter((part) => part.type === "text" || part.type === "image" || part.type === "file");
      return { role, content, ...options };
    }
    case "assistant": {
      const content = parts.filter((part) => part.type !== "image" && part.type !== "tool-approval-response");
      return { role, content, ...options };
    }
    case "tool": {
      const content = parts.filter((part) => part.type === "tool-result" || part.type === "tool-approval-response");
      return { role, content, ...options };
    }
  }
}
