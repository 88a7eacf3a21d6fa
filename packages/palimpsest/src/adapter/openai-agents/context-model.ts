import type { AgentInputItem, Model, ModelRequest, ModelResponse, StreamEvent } from "@openai/agents";
import type { ToolOption } from "../../context/inputs.ts";
import type { Reply } from "../../context/provider-formats.ts";
import type { SummaryRequest } from "../../context/summarizer.ts";
import type { AdapterContext } from "../shared/adapter-context.ts";
import { askPlainer } from "../shared/ask-plainer.ts";
import { encodeItems, writeItems, writeNewItems } from "./agent-item.ts";

interface ContextModelInput {
  readonly name: string;
  readonly inner: Model;
  readonly open: () => Promise<AdapterContext<"openai-responses">>;
}

/**
 * The same model; what it is asked passes through the context and fits its window. It works below the runner, so that
 * the run's state and the session keep the whole list: what an input filter of the runner leaves out, the session loses too.
 */
export class ContextModel implements Model {
  readonly #name: string;
  readonly #inner: Model;
  readonly #open: ContextModelInput["open"];
  readonly getRetryAdvice?: NonNullable<Model["getRetryAdvice"]>;
  readonly supportsPromptModelSelection?: boolean;

  constructor({ name, inner, open }: ContextModelInput) {
    this.#name = name;
    this.#inner = inner;
    this.#open = open;
    if (inner.getRetryAdvice !== undefined) this.getRetryAdvice = inner.getRetryAdvice.bind(inner);
    if (inner.supportsPromptModelSelection !== undefined)
      this.supportsPromptModelSelection = inner.supportsPromptModelSelection;
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    if (isServerSide(request)) return await this.#inner.getResponse(request);
    const { adapter, response } = await this.#ask(request, (fitting) => this.#inner.getResponse(fitting));
    await record(adapter, toReply(response, this.#name));
    return response;
  }

  async *getStreamedResponse(request: ModelRequest): AsyncGenerator<StreamEvent> {
    if (isServerSide(request)) {
      yield* this.#inner.getStreamedResponse(request);
      return;
    }
    // A refusal comes with the first event.
    const { adapter, response } = await this.#ask(request, async (fitting) => {
      const events = this.#inner.getStreamedResponse(fitting)[Symbol.asyncIterator]();
      return { events, first: await events.next() };
    });
    const { events, first } = response;
    try {
      for (let next = first; next.done !== true; next = await events.next()) {
        const event = next.value;
        if (event.type === "response_done")
          await record(adapter, toReply({ ...event.response, responseId: event.response.id }, this.#name));
        yield event;
      }
    } finally {
      await events.return?.();
    }
  }

  async #ask<Result>(request: ModelRequest, send: (request: ModelRequest) => Promise<Result>) {
    const adapter = await this.#open();
    const given = encodeItems(listInput(request.input));
    const response = await askPlainer(adapter, {
      request: {
        model: this.#name,
        system: request.systemInstructions ?? [],
        tools: listTools(request),
        messages: given.map(({ encoded }) => encoded),
        outputTokensMax: request.modelSettings.maxTokens,
        signal: request.signal,
        askModel: (summary) => askModel(this.#inner, { request, summary }),
      },
      send: (prepared) => send({ ...request, input: writeItems(prepared, given) }),
    });
    return { adapter, response };
  }
}

/** What only the server has can't be made smaller. */
const isServerSide = ({ previousResponseId, conversationId }: ModelRequest): boolean =>
  previousResponseId !== undefined || conversationId !== undefined;

const listInput = (input: ModelRequest["input"]): readonly AgentInputItem[] =>
  typeof input === "string" ? [{ type: "message", role: "user", content: input }] : input;

/** Only counted: the framework sends the tools itself. Hosted tools are defined by the server. */
const listTools = ({ tools, handoffs }: ModelRequest): readonly ToolOption[] => [
  ...tools.flatMap((tool) =>
    tool.type === "function" ? [{ name: tool.name, description: tool.description, input_schema: tool.parameters }] : [],
  ),
  ...handoffs.map(({ toolName, toolDescription, inputJsonSchema }) => ({
    name: toolName,
    description: toolDescription,
    input_schema: inputJsonSchema,
  })),
];

interface AskInput {
  /** The newest request, whose tools and settings are used. */
  readonly request: ModelRequest;
  readonly summary: SummaryRequest<"openai-responses">;
}

async function askModel(model: Model, { request, summary: { params, signal } }: AskInput) {
  const { instructions } = params;
  const own = { ...request, input: writeNewItems(params.input), signal, outputType: "text" as const };
  const response = await model.getResponse(
    instructions === undefined ? own : { ...own, systemInstructions: instructions },
  );
  return toReply(response, params.model);
}

/** If it can't be recorded, the next list brings it. */
async function record(adapter: AdapterContext<"openai-responses">, reply: Reply<"openai-responses">): Promise<void> {
  await (await adapter.context).assistant(reply).catch(() => undefined);
}

interface Answer {
  readonly responseId?: string | undefined;
  readonly output: readonly AgentInputItem[];
  readonly usage: {
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly inputTokensDetails?: TokenDetails | undefined;
  };
}

type TokenDetails = Readonly<Record<string, number>> | readonly Readonly<Record<string, number>>[];

function toReply({ responseId, output, usage }: Answer, model: string) {
  const { inputTokens, outputTokens, inputTokensDetails = [] } = usage;
  const cached = [inputTokensDetails].flat().reduce((sum, details) => sum + (details["cached_tokens"] ?? 0), 0);
  return {
    id: responseId ?? crypto.randomUUID(),
    model,
    status: "completed",
    output: encodeItems(output).map(({ encoded }) => encoded),
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
    },
  };
}
