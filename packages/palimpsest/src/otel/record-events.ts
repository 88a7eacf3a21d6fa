import {
  type Attributes,
  context,
  type Context as OtelContext,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import type { LoopEvent } from "../schema/loop-event.ts";
import { requestTokens, type Usage } from "../schema/usage.ts";
import { createInstruments, type Instruments } from "./instruments.ts";

export interface RecordEventsOptions {
  /** The provider's name of the model. */
  readonly model: string;
  /** By the conventions' names: `anthropic`, `openai` and so on. By default `anthropic`. */
  readonly provider?: string | undefined;
  /** The session's name, for `gen_ai.conversation.id`. The events of the agent's own loop have it. */
  readonly session?: string | undefined;
  /** The name of a fork or an agent. */
  readonly agent?: string | undefined;
  /** `off`: another instrumentation counts the tokens of replies already. By default `on`. */
  readonly tokenUsage?: "on" | "off" | undefined;
  /** Called with every event, afterwards. */
  readonly onEvent?: ((event: LoopEvent) => void) | undefined;
  /** In milliseconds. */
  readonly clock?: (() => number) | undefined;
}

/**
 * A listener that records events as spans and metrics of OpenTelemetry, by its GenAI conventions. Without an SDK that the
 * program has set up, the API does nothing. No text of the conversation is recorded: names, numbers and reasons only.
 */
export function recordEvents(options: RecordEventsOptions): (event: LoopEvent) => void {
  let recorder: EventRecorder | undefined;
  return (event) => {
    // At the first event: an SDK may be set up after this listener was made.
    recorder ??= new EventRecorder(options);
    recorder.record(event);
    options.onEvent?.(event);
  };
}

type EventKind<Kind extends LoopEvent["kind"]> = Extract<LoopEvent, { readonly kind: Kind }>;

interface OpenRequest {
  readonly span: Span;
  readonly startedAt: number;
}

/** Events that have no duration. */
type MomentKind =
  | "cleared"
  | "edit"
  | "left-out"
  | "server-cleared"
  | "no-headroom"
  | "cache-break"
  | "memories-saved"
  | "warning";

/**
 * Spans that have a duration:
 *   turn-start … turn-end                            invoke_agent, the parent of the others
 *   request-start … reply-end                        chat
 *   call-start … call-end                            execute_tool
 *   compaction-start … compacted, compaction-failed  palimpsest.compact
 * A library's context has neither turns nor requests of its own: its spans belong to the caller's active span.
 */
class EventRecorder {
  readonly #options: RecordEventsOptions;
  readonly #tracer: Tracer = trace.getTracer("palimpsest");
  readonly #instruments: Instruments = createInstruments();
  readonly #clock: () => number;
  #session: string | undefined;
  #model: string;
  #turn: Span | undefined;
  #request: OpenRequest | undefined;
  #compaction: Span | undefined;
  readonly #calls = new Map<string, Span>();

  constructor(options: RecordEventsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
    this.#session = options.session;
    this.#model = options.model;
  }

  record(event: LoopEvent): void {
    switch (event.kind) {
      case "turn-start":
        this.#startTurn(event);
        return;
      case "turn-end":
        this.#endTurn(event);
        return;
      case "request-start":
        this.#startRequest(event);
        return;
      case "reply-end":
        this.#endReply(event);
        return;
      case "call-start":
        this.#startCall(event);
        return;
      case "call-end":
        this.#endCall(event);
        return;
      case "compaction-start":
        this.#startCompaction(event);
        return;
      case "compacted":
        this.#endCompaction(event);
        return;
      case "compaction-failed":
        this.#failCompaction(event);
        return;
      case "cleared":
      case "edit":
      case "left-out":
      case "server-cleared":
      case "no-headroom":
      case "cache-break":
      case "memories-saved":
      case "warning":
        this.#recordMoment(event);
        return;
      case "reply-start":
      case "text-delta":
      case "thinking-delta":
      case "retry-start":
      case "permission-start":
      case "permission-end":
      case "edit-planned":
      case "compaction-progress":
      case "preparation":
      case "message-queued":
      case "agent-ended":
        // Deltas, questions to the user, plans and preparations: what comes of them is recorded.
        return;
    }
  }

  #startTurn({ session, model }: EventKind<"turn-start">): void {
    this.#session = session;
    this.#model = model;
    const name = this.#options.agent ?? "palimpsest";
    const attributes = { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name };
    this.#turn = this.#start(`invoke_agent ${name}`, { attributes });
  }

  #endTurn({ reason }: EventKind<"turn-end">): void {
    for (const [id, span] of this.#calls) {
      fail(span, "interrupted");
      this.#calls.delete(id);
    }
    this.#endRequest(reason);
    const turn = this.#turn;
    this.#turn = undefined;
    if (turn === undefined) return;
    turn.setAttribute("palimpsest.turn.reason", reason);
    if (reason === "answered" || reason === "aborted") turn.end();
    else fail(turn, reason);
  }

  #startRequest({ tokens }: EventKind<"request-start">): void {
    // The one before got no reply: it was refused, and this one is smaller or plainer.
    this.#endRequest("refused");
    const span = this.#start(`chat ${this.#model}`, {
      kind: SpanKind.CLIENT,
      attributes: { "gen_ai.operation.name": "chat", "palimpsest.request.tokens": tokens },
    });
    this.#request = { span, startedAt: this.#clock() };
  }

  #endRequest(error: string): void {
    if (this.#request === undefined) return;
    this.#measureRequest(this.#request, { "error.type": error });
    fail(this.#request.span, error);
    this.#request = undefined;
  }

  #measureRequest({ startedAt }: OpenRequest, more: Attributes): void {
    this.#instruments.duration.record((this.#clock() - startedAt) / 1000, { ...this.#chat, ...more });
  }

  #endReply({ id, stopReason, usage }: EventKind<"reply-end">): void {
    if (usage !== undefined && this.#options.tokenUsage !== "off") this.#countUsage(usage, this.#chat);
    if (this.#request === undefined) return;
    const { span } = this.#request;
    span.setAttributes({ "gen_ai.response.id": id, "gen_ai.response.finish_reasons": [stopReason] });
    if (usage !== undefined) span.setAttributes(usageAttributes(usage));
    this.#measureRequest(this.#request, {});
    span.end();
    this.#request = undefined;
  }

  #countUsage(usage: Usage, attributes: Attributes): void {
    const { tokenUsage } = this.#instruments;
    tokenUsage.record(requestTokens(usage), { ...attributes, "gen_ai.token.type": "input" });
    tokenUsage.record(usage.output, { ...attributes, "gen_ai.token.type": "output" });
  }

  #startCall({ id, tool }: EventKind<"call-start">): void {
    const attributes = { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.call.id": id };
    this.#calls.set(id, this.#start(`execute_tool ${tool}`, { attributes }));
  }

  #endCall({ id, outcome }: EventKind<"call-end">): void {
    const span = this.#calls.get(id);
    this.#calls.delete(id);
    if (outcome === "done") span?.end();
    else if (span !== undefined) fail(span, outcome);
  }

  #startCompaction({ trigger, cause, tokens }: EventKind<"compaction-start">): void {
    this.#compaction?.end();
    this.#compaction = this.#start("palimpsest.compact", {
      attributes: {
        "palimpsest.compaction.trigger": trigger,
        "palimpsest.compaction.cause": cause,
        "palimpsest.tokens.before": tokens,
      },
    });
  }

  /** One that was prepared in the background, or failed at once, has no start. */
  #takeCompaction(): Span {
    const span = this.#compaction ?? this.#start("palimpsest.compact", {});
    this.#compaction = undefined;
    return span;
  }

  #endCompaction(event: EventKind<"compacted">): void {
    const { trigger, cause, path, tokensBefore, tokensAfter, usage, costNanos, filesRestored = 0 } = event;
    const labels = { "palimpsest.compaction.trigger": trigger, "palimpsest.compaction.cause": cause };
    const outcome = { ...labels, "palimpsest.compaction.path": path };
    const span = this.#takeCompaction();
    span.setAttributes({
      ...outcome,
      "palimpsest.compaction.prepared": event.made === "ahead",
      "palimpsest.compaction.audit_score": event.auditScore,
      "palimpsest.compaction.files_restored": filesRestored,
      ...sizeAttributes({ tokensBefore, tokensAfter }),
      ...(costNanos === undefined ? {} : { "palimpsest.cost.usd": costNanos / 1e9 }),
      ...(usage === undefined ? {} : { ...usageAttributes(usage), "palimpsest.cache.hit_rate": hitRate(usage) }),
    });
    span.end();
    const { compactions, tokensRemoved, filesRestored: files } = this.#instruments;
    compactions.add(1, { ...this.#base, ...outcome });
    tokensRemoved.add(Math.max(0, tokensBefore - tokensAfter), { ...this.#base, "palimpsest.edit": "compact" });
    if (filesRestored > 0) files.add(filesRestored, this.#base);
    if (usage !== undefined) this.#countUsage(usage, { ...this.#chat, "palimpsest.purpose": "compact" });
  }

  #failCompaction({ trigger, reason, state }: EventKind<"compaction-failed">): void {
    const labels = { "palimpsest.compaction.trigger": trigger, "palimpsest.compaction.breaker": state };
    const span = this.#takeCompaction();
    span.setAttributes(labels);
    fail(span, reason);
    this.#instruments.compactions.add(1, { ...this.#base, ...labels, "error.type": reason });
  }

  /** Events without a duration: a span that starts and ends at once, and a count. */
  #recordMoment(event: EventKind<MomentKind>): void {
    const { instruments, labels } = { instruments: this.#instruments, labels: this.#base };
    switch (event.kind) {
      case "cleared":
        this.#moment("palimpsest.clear", {
          "palimpsest.edit": event.what,
          "palimpsest.trigger": event.trigger,
          "palimpsest.count": event.count,
          ...sizeAttributes(event),
        });
        instruments.tokensRemoved.add(event.tokensSaved, { ...labels, "palimpsest.edit": event.what });
        return;
      case "edit":
        for (const { tool, bytesBefore, bytesAfter, ...sizes } of event.offloaded ?? []) {
          this.#moment("palimpsest.offload", {
            "gen_ai.tool.name": tool,
            "palimpsest.bytes.before": bytesBefore,
            "palimpsest.bytes.after": bytesAfter,
            ...sizeAttributes(sizes),
          });
          const saved = Math.max(0, sizes.tokensBefore - sizes.tokensAfter);
          instruments.tokensRemoved.add(saved, { ...labels, "palimpsest.edit": "offload" });
        }
        return;
      case "left-out":
        this.#moment("palimpsest.leave_out", { "palimpsest.part": event.part, ...sizeAttributes(event) });
        return;
      case "server-cleared":
        this.#moment("palimpsest.server_clear", { "palimpsest.tokens.saved": event.tokens });
        return;
      case "no-headroom":
        this.#moment("palimpsest.no_headroom", {
          "palimpsest.tokens.before": event.tokens,
          "palimpsest.tokens.limit": event.limit,
        });
        return;
      case "cache-break":
        this.#moment("palimpsest.cache_break", {
          "palimpsest.cause": event.cause,
          "palimpsest.tokens.rewritten": event.tokens,
        });
        instruments.tokensRewritten.add(event.tokens, labels);
        return;
      case "memories-saved": {
        const work = { "palimpsest.work": event.by };
        const count = event.memories.length;
        this.#moment("palimpsest.save_memories", { ...work, "palimpsest.count": count });
        instruments.memories.add(count, { ...labels, ...work });
        return;
      }
      case "warning":
        instruments.warnings.add(1, { ...labels, "palimpsest.code": event.code });
        return;
    }
  }

  #moment(name: string, attributes: Attributes): void {
    this.#start(name, { attributes }).end();
  }

  #start(
    name: string,
    { kind = SpanKind.INTERNAL, attributes = {} }: { kind?: SpanKind; attributes?: Attributes },
  ): Span {
    const { agent } = this.#options;
    const session = this.#session === undefined ? {} : { "gen_ai.conversation.id": this.#session };
    const named = agent === undefined ? {} : { "gen_ai.agent.name": agent };
    return this.#tracer.startSpan(
      name,
      { kind, attributes: { ...this.#base, ...session, ...named, ...attributes } },
      this.#parent,
    );
  }

  get #parent(): OtelContext {
    const active = context.active();
    return this.#turn === undefined ? active : trace.setSpan(active, this.#turn);
  }

  get #base(): Attributes {
    return {
      "gen_ai.provider.name": this.#options.provider ?? "anthropic",
      "gen_ai.request.model": this.#model,
    };
  }

  get #chat(): Attributes {
    return { ...this.#base, "gen_ai.operation.name": "chat" };
  }
}

function fail(span: Span, error: string): void {
  span.setAttribute("error.type", error);
  span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

interface Sizes {
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

const sizeAttributes = ({ tokensBefore, tokensAfter }: Sizes): Attributes => ({
  "palimpsest.tokens.before": tokensBefore,
  "palimpsest.tokens.after": tokensAfter,
  "palimpsest.tokens.saved": Math.max(0, tokensBefore - tokensAfter),
});

/** The conventions count cached tokens as input too. */
const usageAttributes = (usage: Usage): Attributes => ({
  "gen_ai.usage.input_tokens": requestTokens(usage),
  "gen_ai.usage.cache_read.input_tokens": usage.cacheRead,
  "gen_ai.usage.cache_creation.input_tokens": usage.cacheWrite,
  "palimpsest.usage.cache_creation_1h.input_tokens": usage.cacheWrite1h ?? 0,
  "gen_ai.usage.output_tokens": usage.output,
});

const hitRate = (usage: Usage): number => {
  const sent = requestTokens(usage);
  return sent === 0 ? 0 : usage.cacheRead / sent;
};
