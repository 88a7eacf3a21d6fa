import { randomUUID } from "node:crypto";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { AgentSessions } from "palimpsest/claude-agent-sdk";
import { z } from "zod";

/**
 * `query` of the Claude Agent SDK as far as example 17 needs it, for where the SDK with its 355 MB is not installed: a loop
 * that asks the model, runs tools, and compacts. It calls store, hooks and tools in the order in which the SDK does.
 */
interface QueryInput {
  readonly prompt: string;
  readonly options: Awaited<ReturnType<AgentSessions["options"]>> & {
    readonly model: string;
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    readonly resume?: string | undefined;
  };
}

export type QueryMessage =
  | { readonly type: "system"; readonly subtype: "compact_boundary"; readonly session_id: string }
  | { readonly type: "result"; readonly result: string; readonly session_id: string };

type Entries = NonNullable<Awaited<ReturnType<AgentSessions["sessionStore"]["load"]>>>;
type Entry = Entries[number];

/** Claude Code keeps so much of the window free. */
const reservedTokens = 33_000;
const summaryPrompt = "Respond with TEXT ONLY: a summary of the conversation.";

const replyShape = z.object({
  id: z.string(),
  content: z.array(z.looseObject({ type: z.string() })),
  usage: z.looseObject({ input_tokens: z.number() }),
});
const callShape = z.object({
  type: z.literal("tool_use"),
  id: z.string(),
  name: z.string(),
  input: z.record(z.string(), z.unknown()),
});
const textShape = z.object({ type: z.literal("text"), text: z.string() });
const messageShape = z.object({ message: z.object({ role: z.string(), content: z.unknown() }) });
const boundaryShape = z.object({
  compactMetadata: z.object({ preservedSegment: z.object({ headUuid: z.string(), anchorUuid: z.string() }) }),
});
const contextShape = z.object({ attachment: z.object({ content: z.array(z.string()) }) });

export async function* query({ prompt, options }: QueryInput): AsyncGenerator<QueryMessage> {
  const session_id = options.resume ?? randomUUID();
  const conversation = await Conversation.open(options, session_id);
  await conversation.append({ type: "user", message: { role: "user", content: prompt } });
  if (conversation.tokens > Number(options.env["CLAUDE_CODE_AUTO_COMPACT_WINDOW"]) - reservedTokens) {
    await conversation.compact();
    yield { type: "system", subtype: "compact_boundary", session_id };
  }
  for (;;) {
    const { content } = await conversation.ask();
    const calls = content.flatMap((block) => callShape.safeParse(block).data ?? []);
    if (calls.length === 0) {
      const result = content.flatMap((block) => textShape.safeParse(block).data?.text ?? []).join("");
      yield { type: "result", result, session_id };
      return await conversation.close();
    }
    const results = [];
    for (const call of calls) results.push(await conversation.callTool(call));
    await conversation.append({ type: "user", message: { role: "user", content: results } });
  }
}

class Conversation {
  readonly #options: QueryInput["options"];
  readonly #key: { readonly projectKey: string; readonly sessionId: string };
  readonly #tools = new Client({ name: "substitute", version: "1.0.0" });
  #entries: Entry[];

  static async open(options: QueryInput["options"], sessionId: string): Promise<Conversation> {
    const key = { projectKey: options.cwd.replaceAll(/[^A-Za-z0-9]/g, "-"), sessionId };
    const conversation = new Conversation(options, key, (await options.sessionStore.load(key)) ?? []);
    const [here, there] = InMemoryTransport.createLinkedPair();
    await options.mcpServers.palimpsest.instance.connect(there);
    await conversation.#tools.connect(here);
    return conversation;
  }

  private constructor(options: QueryInput["options"], key: Conversation["key"], entries: Entry[]) {
    this.#options = options;
    this.#key = key;
    this.#entries = entries;
  }

  get key(): { readonly projectKey: string; readonly sessionId: string } {
    return this.#key;
  }

  get tokens(): number {
    return JSON.stringify(this.#messages()).length / 4;
  }

  async append(...entries: readonly Entry[]): Promise<void> {
    for (const entry of entries) {
      const parent = this.#entries.findLast(({ uuid }) => uuid !== undefined)?.uuid ?? null;
      const { sessionId } = this.#key;
      const { cwd } = this.#options;
      const common = { isSidechain: false, uuid: randomUUID(), timestamp: new Date().toISOString(), sessionId, cwd };
      this.#entries.push({ parentUuid: parent, ...common, ...entry });
    }
    await this.#options.sessionStore.append(this.#key, this.#entries.slice(-entries.length));
  }

  async ask() {
    const { id, content, usage } = await this.#send(this.#messages());
    const { model } = this.#options;
    await this.append({ type: "assistant", message: { id, role: "assistant", model, content, usage } });
    return { content };
  }

  /** The last prompt is kept; everything before it is summarised. */
  async compact(): Promise<void> {
    const kept = this.#entries.findLast(({ uuid }) => uuid !== undefined)?.uuid ?? "";
    const preTokens = Math.round(this.tokens);
    await this.#runHooks("PreCompact", { trigger: "auto" });
    const { content } = await this.#send([...this.#messages(), { role: "user", content: summaryPrompt }]);
    const summary = content.flatMap((block) => textShape.safeParse(block).data?.text ?? []).join("");
    const contexts = await this.#runHooks("SessionStart", { source: "compact" });
    const anchorUuid = randomUUID();
    const preservedSegment = { headUuid: kept, anchorUuid, tailUuid: kept };
    const compactMetadata = { trigger: "auto", preTokens, preservedSegment };
    const boundary = { subtype: "compact_boundary", parentUuid: null, logicalParentUuid: kept, compactMetadata };
    await this.append(
      { type: "system", ...boundary },
      { type: "user", uuid: anchorUuid, isCompactSummary: true, message: { role: "user", content: summary } },
      { type: "attachment", attachment: { type: "hook_additional_context", content: contexts } },
    );
  }

  async callTool({ id, name, input }: z.infer<typeof callShape>) {
    const { content } = await this.#tools.callTool({ name: name.split("__").at(-1) ?? "", arguments: input });
    return { type: "tool_result", tool_use_id: id, content };
  }

  async close(): Promise<void> {
    await this.#tools.close();
  }

  async #runHooks(event: "PreCompact" | "SessionStart", input: object): Promise<readonly string[]> {
    const contexts: string[] = [];
    for (const { hooks } of this.#options.hooks[event])
      for (const hook of hooks) {
        const given = { hook_event_name: event, session_id: this.#key.sessionId, cwd: this.#options.cwd, ...input };
        const context = (await hook(given)).hookSpecificOutput?.additionalContext;
        if (context !== undefined) contexts.push(context);
      }
    return contexts;
  }

  /** What follows the newest boundary, with the prompt that it kept behind the summary. */
  #messages(): readonly object[] {
    const boundary = this.#entries.findLastIndex(({ subtype }) => subtype === "compact_boundary");
    const kept = boundaryShape.safeParse(this.#entries[boundary]).data?.compactMetadata.preservedSegment;
    const keptEntry = this.#entries.filter(({ uuid }) => uuid !== undefined && uuid === kept?.headUuid);
    const entries = this.#entries.slice(boundary + 1);
    const behindSummary = entries.findIndex(({ uuid }) => uuid !== undefined && uuid === kept?.anchorUuid) + 1;
    return entries.toSpliced(behindSummary, 0, ...keptEntry).flatMap((entry): object[] => {
      const message = messageShape.safeParse(entry).data?.message;
      if (message !== undefined) return [{ role: message.role, content: message.content }];
      const context = contextShape.safeParse(entry).data?.attachment.content;
      return context === undefined ? [] : [{ role: "user", content: context.join("\n") }];
    });
  }

  async #send(messages: readonly object[]): Promise<z.infer<typeof replyShape>> {
    const { model, env } = this.#options;
    const response = await fetch(`${env["ANTHROPIC_BASE_URL"]}/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": "none", "anthropic-version": "2023-06-01" },
      body: JSON.stringify({ model, max_tokens: 4_096, messages }),
    });
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
    return replyShape.parse(await response.json());
  }
}
