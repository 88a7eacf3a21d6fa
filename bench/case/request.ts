import { type ModelMessage, pruneMessages } from "ai";
import { planBreakpoints } from "../../packages/palimpsest/src/cache/breakpoint.ts";
import { type RequestParts, RequestSerializer } from "../../packages/palimpsest/src/cache/request-serializer.ts";
import { WrittenPlaces } from "../../packages/palimpsest/src/cache/written-places.ts";
import type { Message } from "../../packages/palimpsest/src/schema/block.ts";
import { TokenLedger } from "../../packages/palimpsest/src/tokens/token-ledger.ts";
import { Fold } from "../../packages/palimpsest/src/transcript/fold.ts";
import type { LoggedEntry } from "../../packages/palimpsest/src/transcript/read-lines.ts";
import { GeneratedLog } from "../generated-log.ts";
import { type BenchCase, type Figure, median, timed } from "../measure.ts";
import { parsed } from "../parsed-line.ts";

const bytesPerToken = 4;
const resultChars = 3_000;
const repeats = 40;
const rounds = 200;

const tools = Array.from({ length: 20 }, (_, at) => ({
  name: `tool_${at}`,
  description: "Does one thing and says what it did. ".repeat(20),
  input_schema: { type: "object", properties: { path: { type: "string" } } },
}));
const system = [{ type: "text", text: "A rule that holds for the whole session. ".repeat(300) } as const];

/** A request built from cached parts, compared with what others do for each request: serialise or walk over everything. */
export const requestCase: BenchCase = {
  name: "request",
  run: async () => [bytesFigure(), ...assemblyFigures()],
};

function bytesFigure(): Figure {
  const session = new GrowingSession(200_000);
  const pieces = new RequestSerializer();
  const ours: number[] = [];
  const peer: number[] = [];
  let length = 0;
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const parts = session.round();
    const body = { ...parts, max_tokens: parts.maxTokens };
    peer.push(timed(() => void JSON.stringify(body)));
    ours.push(timed(() => (length = pieces.bytes(parts).length)));
  }
  // The first request serialises everything, as every request of the peer does.
  const later = ours.slice(1);
  return {
    name: "bytes of a 200K-token body over JSON.stringify of it",
    value: median(later) / median(peer),
    unit: "×",
    limit: 0.34,
    detail: `bytes ${median(later).toFixed(2)} ms, stringify (text, not yet bytes) ${median(peer).toFixed(2)} ms, ${length} bytes, a new round each time; the first request ${(ours[0] ?? NaN).toFixed(2)} ms`,
  };
}

function assemblyFigures(): Figure[] {
  const small = new GrowingSession(200_000);
  const large = new GrowingSession(1_000_000);
  const prompt = modelMessages(small.messages);
  const ours: number[] = [];
  const atMillion: number[] = [];
  const peer: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    small.round((ms) => ours.push(ms));
    large.round((ms) => atMillion.push(ms));
    peer.push(timed(() => void pruned(prompt)));
  }
  const conditions = `medians of ${rounds} rounds in turn`;
  return [
    {
      name: "assembling the next request at 200K tokens, counting included, over the AI SDK's pruneMessages",
      value: median(ours) / median(peer),
      unit: "×",
      limit: 1,
      detail: `${median(ours).toFixed(4)} ms (append a reply and its result, count, messages, breakpoints) against ${median(peer).toFixed(4)} ms for ${prompt.length} messages, ${conditions}`,
    },
    {
      name: "assembling the next request at 200K tokens",
      value: median(ours),
      unit: "ms",
      detail: conditions,
    },
    {
      name: "assembling the next request, 1M tokens over 200K",
      value: median(atMillion) / median(ours),
      unit: "×",
      limit: 1.5,
      detail: `${median(atMillion).toFixed(4)} ms for ${large.messages.length} messages, ${conditions}`,
    },
  ];
}

/** As its documentation recommends: drops thinking and calls, except the newest. */
const pruned = (messages: ModelMessage[]): ModelMessage[] =>
  pruneMessages({
    messages,
    reasoning: "before-last-message",
    toolCalls: "before-last-3-messages",
    emptyMessages: "remove",
  });

/** A session that can be sent, and grows by one round at a time. */
class GrowingSession {
  readonly #log = new GeneratedLog();
  readonly #ledger = new TokenLedger();
  readonly #fold = new Fold({ watch: this.#ledger });
  readonly #written = new WrittenPlaces();

  constructor(tokens: number) {
    const logged: LoggedEntry[] = [];
    let bytes = 0;
    while (bytes < tokens * bytesPerToken)
      for (const line of this.#log.round(resultChars)) {
        const entry = parsed(line);
        logged.push(entry);
        bytes += "blocks" in entry.entry ? JSON.stringify(entry.entry.blocks).length : 0;
      }
    this.#fold.appendAll(logged);
  }

  get messages(): readonly Message[] {
    return this.#fold.messages;
  }

  /** Reports the milliseconds from a complete reply to the parts of the next request. */
  round(report: (milliseconds: number) => void = () => {}): RequestParts {
    const [user, reply, result, end] = [...this.#log.round(resultChars)].map(parsed);
    if (user === undefined || reply === undefined || result === undefined || end === undefined)
      throw new Error("a round has four lines");
    this.#fold.append(user);
    const start = performance.now();
    this.#fold.append(reply);
    this.#fold.append(result);
    const parts = this.#parts();
    report(performance.now() - start);
    this.#written.recordWrites(parts.messages, parts.breakpoints);
    const sent = { ...parts, messages: [...parts.messages] };
    this.#fold.append(end);
    return sent;
  }

  #parts(): RequestParts {
    const next = this.#fold.next();
    if (next.kind !== "sendable" || this.#ledger.size.tokens === 0) throw new Error("nothing to send");
    const { messages } = next;
    const lifetimes = { fixed: "1h", rolling: "5m" } as const;
    const written = this.#written.places(messages);
    const breakpoints = planBreakpoints({ tools, system, messages, written, lifetimes });
    return { model: "claude-sonnet-5-5", maxTokens: 32_000, tools, system, messages, breakpoints };
  }
}

/** The same conversation in the AI SDK's form. */
function modelMessages(messages: readonly Message[]): ModelMessage[] {
  return messages.flatMap(({ role, content }): ModelMessage[] => {
    if (role === "assistant") return [{ role, content: content.flatMap(assistantPart) }];
    const results = content.flatMap(resultPart);
    const words = content.flatMap((block) =>
      block.type === "text" ? [{ type: "text" as const, text: block.text }] : [],
    );
    return [
      ...(results.length > 0 ? [{ role: "tool" as const, content: results }] : []),
      ...(words.length > 0 ? [{ role: "user" as const, content: words }] : []),
    ];
  });
}

type Content = Message["content"][number];
type AssistantPart = Exclude<Extract<ModelMessage, { role: "assistant" }>["content"], string>[number];
type ToolPart = Extract<ModelMessage, { role: "tool" }>["content"][number];

function assistantPart(block: Content): AssistantPart[] {
  if (block.type === "text") return [{ type: "text", text: block.text }];
  if (block.type !== "tool_use") return [];
  return [{ type: "tool-call", toolCallId: block.id, toolName: block.name, input: block.input }];
}

function resultPart(block: Content): ToolPart[] {
  if (block.type !== "tool_result" || typeof block.content !== "string") return [];
  const output = { type: "text", value: block.content } as const;
  return [{ type: "tool-result", toolCallId: block.tool_use_id, toolName: "Read", output }];
}
