import type { SessionContext } from "palimpsest/internal/context/session-context";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";

interface RecordedTurn {
  readonly turn: AsyncIterable<LoopEvent>;
  /** The name of an agent; absent for the main conversation. */
  readonly agent?: string | undefined;
}

/** The events of a turn as they are; recorded by OpenTelemetry if the process was started with an SDK of it. */
export async function* recordTurn(context: SessionContext, { turn, agent }: RecordedTurn): AsyncGenerator<LoopEvent> {
  const record = await openRecorder(context, agent);
  for await (const event of turn) {
    record?.(event);
    yield event;
  }
}

/** The same for an event between turns. Must not reject. */
export async function recordEvent(context: SessionContext, event: LoopEvent): Promise<void> {
  const record = await openRecorder(context, undefined);
  record?.(event);
}

/** Under this name an SDK registers itself with the API, whichever copy of the API it uses. */
const sdkName = Symbol.for("opentelemetry.js.api.1");

async function openRecorder(
  { deps, conversation, session }: SessionContext,
  agent: string | undefined,
): Promise<((event: LoopEvent) => void) | undefined> {
  // Without an SDK nothing is loaded.
  if (!(sdkName in globalThis)) return undefined;
  const { recordEvents } = await import("palimpsest/internal/otel/record-events");
  const { provider } = deps.model;
  return recordEvents({ model: conversation.baseline.model, provider, session: session.id, agent, clock: deps.now });
}
