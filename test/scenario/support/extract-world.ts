import Anthropic from "@anthropic-ai/sdk";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import {
  type Context,
  type ContextEvent,
  type ContextOptions,
  fileStore,
} from "../../../packages/palimpsest/src/index.ts";
import { openContextBy } from "../../../packages/palimpsest/src/open/open-context.ts";
import type { MessagesRequest } from "../../../packages/palimpsest/src/schema/wire/messages-request.ts";
import { type MoveBlock, type Responder, Simulator, simulatorFetch } from "../../../packages/simulator/src/index.ts";
import { temporaryFolder } from "../../contract/temporary-folder.ts";

type Params = Anthropic.MessageCreateParamsNonStreaming;

/** What the model answers an extraction with: a text, or calls. */
export type ExtractionAnswer = (directive: string, request: number) => string | readonly MoveBlock[];

interface ExtractWorldOptions extends Partial<ContextOptions> {
  readonly answer?: ExtractionAnswer;
  /** What the model answers the user with. */
  readonly reply?: (said: string) => string | readonly MoveBlock[];
  /** What the model answers a compaction with. */
  readonly summary?: string;
  readonly folder?: string;
  /** A session's log over this size is dropped from memory up to its newest boundary. */
  readonly tailBytes?: number;
  /** Forks are answered when it has resolved. */
  readonly forksWait?: Promise<void>;
}

export interface SentRequest {
  readonly params: Params;
  readonly usage: Anthropic.Usage;
}

export interface ExtractWorld {
  readonly folder: string;
  readonly context: Context<"anthropic"> & { readonly memory: NonNullable<Context<"anthropic">["memory"]> };
  readonly events: readonly ContextEvent[];
  /** Requests of the conversation, and those of its forks. */
  readonly main: readonly SentRequest[];
  readonly forks: readonly SentRequest[];
  /** Says something and answers the model's calls, until it has none. */
  readonly turn: (text: string, result?: string) => Promise<void>;
}

const directiveMark = "Look through the conversation above";

/** The text of the last message's last block. */
export function lastText({ messages }: Pick<Params, "messages">): string {
  const { content = "" } = messages.at(-1) ?? {};
  if (typeof content === "string") return content;
  const last = content.at(-1);
  return last?.type === "text" ? last.text : "";
}

const textsIn = ({ content }: MessagesRequest["messages"][number]): readonly string[] =>
  typeof content === "string"
    ? [content]
    : content.flatMap((block) => (block.type === "text" && "text" in block ? [block.text] : []));

const say = (said: string | readonly MoveBlock[]) => ({
  move: {
    kind: "say" as const,
    blocks: typeof said === "string" ? [{ type: "text" as const, text: said }] : [...said],
  },
});

/** A library's context over files whose model answers extractions as the test says, through the strict simulator. */
export async function extractWorld({
  answer = () => "[]",
  reply = () => "Done.",
  summary = "",
  folder,
  tailBytes,
  forksWait,
  ...options
}: ExtractWorldOptions = {}): Promise<ExtractWorld> {
  const place = folder ?? (await temporaryFolder());
  const [main, forks, events]: [SentRequest[], SentRequest[], ContextEvent[]] = [[], [], []];
  const responder: Responder = {
    name: "extracted",
    respond: ({ request }) => {
      const last = JSON.stringify(request.messages.at(-1));
      const directive = request.messages.flatMap(textsIn).find((text) => text.includes(directiveMark));
      if (directive !== undefined) return say(answer(directive, forks.length));
      if (last.includes("<summary>")) return say(`<summary>\n1. Primary Request and Intent:\n${summary}\n</summary>`);
      return say(last.includes("tool_result") ? "Done." : reply(last));
    },
  };
  const client = new Anthropic({ apiKey: "k", maxRetries: 0, fetch: simulatorFetch(new Simulator({ responder })) });
  const send = async (params: Params, sent: SentRequest[]): Promise<Anthropic.Message> => {
    const message = await client.messages.create(params);
    sent.push({ params: structuredClone(params), usage: message.usage });
    return message;
  };
  const opening = {
    model: "claude-sonnet-5-5",
    store: fileStore({ folder: join(place, "store") }),
    background: { extraction: "on" },
    summarizer: async ({ params }: { readonly params: Params }) => {
      await forksWait;
      return await send(params, forks);
    },
    onEvent: (event: ContextEvent) => void events.push(event),
    ...options,
  } as const;
  const context = await openContextBy(opening, tailBytes === undefined ? {} : { tailBytes });
  onTestFinished(() => context.close());
  const { memory } = context;
  if (memory === undefined) throw new Error("files keep memories");
  return {
    folder: place,
    context: Object.assign(context, { memory }),
    events,
    main,
    forks,
    turn: async (text, result = "ok") => {
      await context.user(text);
      for (;;) {
        const calls = await context.assistant(await send((await context.next()).params, main));
        if (calls.length === 0) return;
        for (const call of calls) await context.toolResult(call.id, result);
      }
    },
  };
}

/** A memory as a model writes it in a list. */
export const written = (path: string, name: string, body: string, type = "feedback"): string =>
  JSON.stringify([{ path, name, description: body, type, body }]);
