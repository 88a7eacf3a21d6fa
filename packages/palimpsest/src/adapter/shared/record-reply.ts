import { Channel } from "../../context/channel.ts";
import type { Provider } from "../../context/provider-formats.ts";
import { isObject, type JsonObject, tryParseJson } from "../../schema/json.ts";
import type { AdapterContext } from "./adapter-context.ts";

interface PassingReply {
  readonly response: Response;
  /** Told of the reply, or of each event. */
  readonly onReply: (message: JsonObject) => void;
}

/** What a context does with replies as they come from the wire: it checks their form itself. */
interface ReplyReader {
  assistant(reply: object): Promise<unknown>;
  assistantStream(events: AsyncIterable<object>): Promise<unknown>;
}

/**
 * Records the reply in a response while the client reads it. Must not reject and must not change a byte: if the reply
 * can't be recorded, the next list brings it.
 */
export async function recordReply<P extends Provider>(
  adapter: AdapterContext<P>,
  { response, onReply }: PassingReply,
): Promise<Response> {
  const context: ReplyReader = await adapter.context;
  if (!response.ok || response.body === null) return response;
  const isStream = response.headers.get("content-type")?.includes("event-stream") === true;
  if (isStream) return new Response(response.body.pipeThrough(recordEvents(adapter, { context, onReply })), response);
  const text = await response.text();
  const reply = tryParseJson(text);
  if (isObject(reply)) {
    onReply(reply);
    await context.assistant(reply).catch(() => undefined);
  }
  return new Response(text, response);
}

/** The stream ends for the client when the reply is stored. If the client leaves it, the reply has broken off. */
function recordEvents<P extends Provider>(
  adapter: AdapterContext<P>,
  { context, onReply }: { readonly context: ReplyReader } & Pick<PassingReply, "onReply">,
): TransformStream<Uint8Array, Uint8Array> {
  const events = new Channel<JsonObject>();
  adapter.beginReply(() => events.close());
  const decoder = new TextDecoder();
  let rest = "";
  const take = (text: string): void => {
    const lines = (rest + text).split(/\r?\n/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const event = line.startsWith("data:") ? tryParseJson(line.slice("data:".length)) : undefined;
      if (!isObject(event)) continue;
      onReply(event);
      events.put(event);
    }
  };
  const recorded = context.assistantStream(events).then(
    () => undefined,
    () => undefined,
  );
  return new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      take(decoder.decode(chunk, { stream: true }));
      controller.enqueue(chunk);
    },
    flush: async () => {
      take("\n");
      events.close();
      await recorded;
    },
    cancel: () => events.close(),
  });
}
