import { type Json, type JsonObject, parseJson, isObject, isArray } from "../schema/json.ts";
import { uuidFromHash } from "../schema/brand.ts";
import { boundaryText } from "../transcript/draft.ts";
import { withoutEmpty, objectAt, objectsAt, textAt, mediaBlockFromUrl } from "./fields.ts";
import type { ImportDeps, ImportedFormat, ImportNote, NoteKind, Translation } from "./importer.ts";
import { noteDetailsMax } from "./limits.ts";

interface SessionMetadata {
  sessionId?: string;
  cwd?: string;
  gitBranch?: string;
  version?: string;
}

export interface EntryPlacement {
  readonly timestamp?: string | undefined;
  /** Set only where the entry does not continue at the one before. */
  readonly parent?: string | null | undefined;
  /** The sub-agent whose own line this is. */
  readonly agent?: string | undefined;
}

interface ReplyDraft {
  readonly id: string;
  readonly model?: string | undefined;
  readonly content: readonly JsonObject[];
  /** In the Messages API's words. */
  readonly usage?: JsonObject | undefined;
  /** A failed reply that never reached the model again. */
  readonly failed?: boolean;
}

interface ResultDraft {
  /** As the source names the call. */
  readonly id: string;
  /** The id that the call got here, where the source keeps call and result together. */
  readonly call?: string;
  readonly content: string | readonly JsonObject[];
  readonly isError?: boolean;
}

interface BoundaryDraft {
  /** Text blocks of the message that stands for what came before. */
  readonly summary: readonly JsonObject[];
  readonly preTokens?: number | undefined;
  readonly trigger?: string | undefined;
  /** First entry that stays verbatim behind the summary; it and all behind it are kept. */
  readonly keptFrom?: string | undefined;
  readonly kept?: readonly string[] | undefined;
}

/**
 * A translation in the making. Gives entries their ids and their place in the chain, keeps call ids apart, and counts
 * what the source did not carry. Ids depend on format, position and content alone: the same source gives the same ids,
 * and what is appended to the source later leaves those before it as they are.
 */
export class DraftLog {
  readonly circumstances: SessionMetadata = {};
  readonly #format: ImportedFormat;
  readonly #deps: ImportDeps;
  readonly #entries: JsonObject[] = [];
  readonly #lastByLine = new Map<string, string>();
  readonly #entriesByReply = new Map<string, number[]>();
  readonly #notes = new Map<NoteKind, { count: number; details: Set<string> }>();
  /** Ids of calls in use, and for each id of the source the calls that nothing answers yet, oldest first. */
  readonly #calls = new Set<string>();
  readonly #openBySource = new Map<string, string[]>();

  constructor(format: ImportedFormat, deps: ImportDeps) {
    this.#format = format;
    this.#deps = deps;
  }

  get last(): string | undefined {
    return this.#lastByLine.get("");
  }

  /** What follows begins at a root of its own: another conversation in the same file. */
  startConversation(): void {
    this.#lastByLine.clear();
  }

  note(kind: NoteKind, detail: string): void {
    const known = this.#notes.get(kind);
    if (known === undefined) this.#notes.set(kind, { count: 1, details: new Set([detail]) });
    else {
      known.count += 1;
      known.details.add(detail);
    }
  }

  noteDamage(lines: readonly number[]): void {
    for (const line of lines) this.note("damaged", `line ${line} is no JSON`);
  }

  /** An id for a reply whose source gave it none. The same for the same source. */
  replyId(name: string): string {
    const { sessionId = "" } = this.circumstances;
    return `msg_${this.#deps.sha256(`${this.#format}\nreply\n${sessionId}\n${name}`).slice(0, 24)}`;
  }

  /** Returns the entry's uuid. */
  add(fields: JsonObject, placing: EntryPlacement = {}): string {
    const line = placing.agent ?? "";
    const position = this.#entries.length;
    const uuid = uuidFromHash(this.#deps.sha256(`${this.#format}\n${position}\n${JSON.stringify(fields)}`));
    const parentUuid = placing.parent === undefined ? (this.#lastByLine.get(line) ?? null) : placing.parent;
    if (placing.timestamp === undefined) this.note("no-timestamp", "entries without a time of their own");
    this.#entries.push({
      parentUuid,
      isSidechain: line !== "",
      ...withoutEmpty({ agentId: line }),
      userType: "external",
      ...withoutEmpty({ ...this.circumstances }),
      ...fields,
      uuid,
      ...withoutEmpty({ timestamp: placing.timestamp }),
    });
    this.#lastByLine.set(line, uuid);
    return uuid;
  }

  user(content: readonly JsonObject[], placing: EntryPlacement & { readonly meta?: boolean } = {}): string | undefined {
    if (content.length === 0) return undefined;
    const meta = placing.meta === true ? { isMeta: true } : {};
    return this.add({ type: "user", ...meta, message: { role: "user", content } }, placing);
  }

  reply({ id, model, content, usage, failed }: ReplyDraft, placing: EntryPlacement = {}): string {
    for (const block of content)
      if (block["type"] === "thinking" && block["signature"] === "")
        this.note("thinking-unsigned", "recorded reasoning without a signature: kept in the log, never sent");
    const message = { type: "message", role: "assistant", id, ...withoutEmpty({ model }), content };
    const error = failed === true ? { isApiErrorMessage: true } : {};
    const position = this.#entries.length;
    const uuid = this.add({ type: "assistant", ...error, message }, placing);
    const known = this.#entriesByReply.get(id);
    if (known === undefined) this.#entriesByReply.set(id, [position]);
    else known.push(position);
    if (usage !== undefined) this.usage(id, usage);
    return uuid;
  }

  /** What the provider counted for a reply, on each of its entries, as the ecosystem writes it. */
  usage(reply: string, usage: JsonObject): void {
    for (const at of this.#entriesByReply.get(reply) ?? []) {
      const entry = this.#entries[at];
      const message = entry?.["message"];
      if (entry !== undefined && isObject(message)) this.#entries[at] = { ...entry, message: { ...message, usage } };
    }
  }

  /** A call's block, under an id that no other call has. */
  call(source: { readonly id: string; readonly name: string; readonly input: JsonObject }): JsonObject {
    const wanted = source.id === "" ? `call_${this.#calls.size + 1}` : source.id;
    let id = wanted;
    for (let n = 2; this.#calls.has(id); n += 1) id = `${wanted}-${n}`;
    if (id !== source.id) this.note("call-id-changed", "the source gives several calls one id, or none");
    this.#calls.add(id);
    const open = this.#openBySource.get(source.id);
    if (open === undefined) this.#openBySource.set(source.id, [id]);
    else open.push(id);
    return { type: "tool_use", id, name: source.name === "" ? "tool" : source.name, input: source.input };
  }

  /** The input of a call as an object, however the source wrote it. */
  input(value: Json | undefined): JsonObject {
    if (isObject(value)) return value;
    if (typeof value !== "string") return {};
    try {
      const parsed = parseJson(value);
      if (isObject(parsed)) return parsed;
    } catch {
      // Said below: models do write arguments that are no JSON.
    }
    if (value.trim() === "") return {};
    this.note("input-not-json", "the arguments of a call are no JSON object: kept as text under `input`");
    return { input: value };
  }

  result(answer: ResultDraft, placing: EntryPlacement = {}): string {
    const called = this.#answered(answer);
    if (called === undefined) this.note("result-without-call", "its call is not in the source");
    const error = answer.isError === true ? { is_error: true } : {};
    const block = { type: "tool_result", tool_use_id: called ?? answer.id, content: answer.content, ...error };
    return this.add({ type: "user", message: { role: "user", content: [block] } }, placing);
  }

  /** The call that is answered: the named one, else the oldest open one of that id. */
  #answered({ id, call }: ResultDraft): string | undefined {
    const open = this.#openBySource.get(id) ?? [];
    const at = call === undefined ? 0 : open.indexOf(call);
    return at === -1 ? undefined : open.splice(at, 1)[0];
  }

  /** Boundary, then summary: the view behind them begins with the summary. */
  boundary(draft: BoundaryDraft, placing: EntryPlacement = {}): void {
    const before = placing.parent === undefined ? this.last : (placing.parent ?? undefined);
    const { keptFrom, kept } = draft;
    const segment =
      keptFrom === undefined || before === undefined ? undefined : { headUuid: keptFrom, tailUuid: before };
    const compactMetadata = withoutEmpty({
      trigger: draft.trigger,
      preTokens: draft.preTokens,
      preservedSegment: segment,
      preservedMessages: kept === undefined ? undefined : { uuids: kept },
    });
    const boundary = { type: "system", subtype: "compact_boundary", content: boundaryText, level: "info" };
    this.add(
      { ...boundary, isMeta: true, ...withoutEmpty({ logicalParentUuid: before }), compactMetadata },
      { ...placing, parent: null },
    );
    this.note("compacted", "became a boundary and its summary");
    this.add(
      {
        type: "user",
        isCompactSummary: true,
        isVisibleInTranscriptOnly: true,
        message: { role: "user", content: draft.summary },
      },
      { timestamp: placing.timestamp, agent: placing.agent },
    );
  }

  /** Kept for people and replay; the messages do not hold it. */
  systemPrompt(content: string, placing: EntryPlacement = {}): void {
    if (content === "") return;
    this.note("system-prompt-aside", "kept as a system entry: messages hold no system prompt");
    this.add({ type: "system", subtype: "system_prompt", isMeta: true, content }, placing);
  }

  translation(): Translation {
    const open = [...this.#openBySource.values()].reduce((sum, calls) => sum + calls.length, 0);
    for (let n = 0; n < open; n += 1) this.note("call-without-result", "interrupted, or its result was not recorded");
    for (const [at] of this.#entriesByReply.values()) {
      const message = this.#entries[at ?? -1]?.["message"];
      if (!isObject(message)) continue;
      if (!Object.hasOwn(message, "usage")) this.note("no-usage", "replies without token figures");
      if (!Object.hasOwn(message, "model")) this.note("no-model", "replies that name no model");
    }
    const notes = [...this.#notes].map(([kind, { count, details }]): ImportNote => {
      const listed = [...details].slice(0, noteDetailsMax).join("; ");
      return { kind, count, detail: details.size > noteDetailsMax ? `${listed}; …` : listed };
    });
    return { entries: this.#entries, notes: notes.toSorted((one, other) => one.kind.localeCompare(other.kind)) };
  }
}

export const textBlock = (text: string): JsonObject => ({ type: "text", text });

export const textBlocks = (text: string): JsonObject[] => (text.trim() === "" ? [] : [textBlock(text)]);

export const thinkingBlock = (thinking: string, signature = ""): JsonObject => ({
  type: "thinking",
  thinking,
  signature,
});

/** Content of a chat-completions message: text, or parts. */
export function chatContent(content: Json | undefined): JsonObject[] {
  if (typeof content === "string") return textBlocks(content);
  if (!isArray(content)) return [];
  return content.flatMap((part) => {
    const url = textAt(objectAt(part, "image_url"), "url");
    const image = url === "" ? undefined : mediaBlockFromUrl(url);
    return image === undefined ? textBlocks(textAt(part, "text")) : [image];
  });
}

/** As a result holds it: a string, or blocks where there is more than text. */
export function chatResult(content: Json | undefined): string | readonly JsonObject[] {
  if (typeof content === "string") return content;
  const blocks = chatContent(content);
  return blocks.every((block) => block["type"] === "text")
    ? blocks.map((block) => textAt(block, "text")).join("\n")
    : blocks;
}

/** Blocks of an assistant message: thinking, text, then its calls. */
export function chatReply(log: DraftLog, message: JsonObject): JsonObject[] {
  const signed = objectsAt(message, "thinking_blocks").map((block) =>
    thinkingBlock(textAt(block, "thinking"), textAt(block, "signature")),
  );
  const reasoning = textAt(message, "reasoning_content");
  const thinking = signed.length > 0 || reasoning === "" ? signed : [thinkingBlock(reasoning)];
  const calls = objectsAt(message, "tool_calls").map((call) => {
    const made = objectAt(call, "function");
    return log.call({ id: textAt(call, "id"), name: textAt(made, "name"), input: log.input(made["arguments"]) });
  });
  return [...thinking, ...chatContent(message["content"]), ...calls];
}
