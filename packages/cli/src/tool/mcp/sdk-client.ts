import { z } from "zod";
import type {
  ListToolsOutcome,
  OfferedTool,
  ServerCallOutcome,
  ToolServer,
} from "palimpsest/internal/ports/tool-server";
import { anyJson } from "palimpsest/internal/schema/any-json";
import type { Json, JsonObject } from "palimpsest/internal/schema/json";
import { callMs, listMs, listPagesMax, toolsPerServerMax } from "./limits.ts";

/** The parts that we use of a connected client of the protocol's SDK. */
export interface SdkClient {
  listTools(params: { cursor?: string }, options: SdkOptions): Promise<unknown>;
  callTool(
    params: { name: string; arguments: Record<string, unknown> },
    schema: undefined,
    options: SdkOptions,
  ): Promise<unknown>;
  getInstructions(): string | undefined;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
}

interface SdkOptions {
  readonly signal: AbortSignal;
  readonly timeout: number;
}

export interface SdkConnection {
  readonly client: SdkClient;
  /** Calls the listener whenever the server reports that its list of tools has changed. */
  readonly onToolsChanged: (listener: () => void) => void;
}

/** Wraps a connected client as a tool server: errors become outcomes, and answers are parsed. */
export function createToolServer({ client, onToolsChanged }: SdkConnection): ToolServer {
  return {
    instructions: client.getInstructions() ?? "",
    listTools: async (signal) => await catchFailure(() => listAllTools(client, signal)),
    call: async ({ tool, input }, signal) =>
      await catchFailure(async () =>
        parseAnswer(
          await client.callTool({ name: tool, arguments: { ...input } }, undefined, { signal, timeout: callMs }),
        ),
      ),
    onChange: (listener) => {
      notifyOnClose(client, () => listener("closed"));
      onToolsChanged(() => listener("tools"));
    },
    close: async () => {
      notifyOnClose(client, undefined);
      // It is gone either way.
      await client.close().catch(() => undefined);
    },
  };
}

/** The client is not an event target: it has a single callback. */
function notifyOnClose(client: SdkClient, listener: (() => void) | undefined): void {
  // oxlint-disable-next-line unicorn/prefer-add-event-listener
  client.onclose = listener;
}

interface SdkFailure {
  readonly kind: "failed";
  readonly why: string;
}

/** Everything a client throws is about the server or the connection to it. */
async function catchFailure<Outcome>(act: () => Promise<Outcome>): Promise<Outcome | SdkFailure> {
  try {
    return await act();
  } catch (error) {
    return { kind: "failed", why: error instanceof Error ? error.message : String(error) };
  }
}

const jsonObject = z.record(z.string(), anyJson);

const listShape = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });
const toolShape = z.object({ name: z.string(), description: z.string().default(""), inputSchema: jsonObject });

/** A tool of unknown form is left out; the others are kept. */
async function listAllTools(client: SdkClient, signal: AbortSignal): Promise<ListToolsOutcome> {
  const tools: OfferedTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < listPagesMax && tools.length < toolsPerServerMax; page += 1) {
    const answer = await client.listTools(cursor === undefined ? {} : { cursor }, { signal, timeout: listMs });
    const read = listShape.safeParse(answer);
    if (!read.success) return { kind: "failed", why: "its list of tools has no known form" };
    tools.push(...read.data.tools.flatMap((tool) => toolShape.safeParse(tool).data ?? []));
    cursor = read.data.nextCursor;
    if (cursor === undefined) break;
  }
  return { kind: "listed", tools };
}

const answerShape = z.object({
  content: z.array(anyJson).default([]),
  isError: z.boolean().default(false),
  structuredContent: jsonObject.optional(),
});

/** If an answer has only structured data, that becomes its text; if it has a text too, servers say the same in both. */
function parseAnswer(answer: unknown): ServerCallOutcome {
  const read = answerShape.safeParse(answer);
  if (!read.success) return { kind: "failed", why: "its answer has no known form" };
  const { content, isError, structuredContent } = read.data;
  const hasOnlyData = content.length === 0 && structuredContent !== undefined;
  return { kind: "answer", content: hasOnlyData ? [textPart(structuredContent)] : content, isError };
}

const textPart = (data: JsonObject): Json => ({ type: "text", text: JSON.stringify(data) });
