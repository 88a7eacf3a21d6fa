import { type Json, type JsonObject, parseJson, isObject, isArray } from "../schema/json.ts";
import { uuidFromHash } from "../schema/brand.ts";
import { boundaryText } from "../transcript/draft.ts";
import {
  withoutEmpty,
  objectAt,
  objectsAt,
  textAt,
  mediaBlockFromUrl,
  type ImportDeps,
  type ImportedFormat,
  type ImportNote,
  type NoteKind,
  type Translation,
} from "./importer.ts";
import { noteDetailsMax } from "./limits.ts";

interface SessionMetadata {
  sessionId?: string;
  cwd?: string;
  gitBranch?: string;
  version?: string;
}

export interface EntryPlacement {
  readonly timestamp?: string | undefined;
  /** Set only if the entry does not continue at the previous one. */
  readonly parent?: string | null | undefined;
  /** The sub-agent that the entry belongs to. */
  readonly agent?: string | undefined;
}

interface ReplyDraft {
  readonly id: string;
  readonly model?: string | undefined;
  readonly content: readonly JsonObject[];
  /** In the fields of the Messages API. */
  readonly usage?: JsonObject | undefined;
  /** A failed reply, which was never sent to the model. */
  readonly failed?: boolean;
}

interface ResultDraft {
  /** The call's id in the source. */
  readonly id: string;
  /** The id that `DraftLog.call` gave to the call, if the source keeps call and result together. */
  readonly call?: string;
  readonly content: string | readonly JsonObject[];
  readonly isError?: boolean;
}

interface BoundaryDraft {
  /** Text blocks of the message that replaces the earlier conversation. */
  readonly summary: readonly JsonObject[];
  readonly preTokens?: number | undefined;
  readonly trigger?: string | undefined;
  /** The first entry that is kept verbatim after the summary; all entries after it are kept too. */
  readonly keptFrom?: string | undefined;
  readonly kept?: readonly string[] | undefined;
}

/**
 * Builds a translation: gives entries their ids and their position in the chain, makes call ids unique, and counts what the
 * source did not contain. Ids depend only on format, position and content: the same source gives the same ids, and
 * appending to the source later does not change them.
 */
export class DraftLog {
  readonly circumstances: SessionMetadata = {};
  readonly #format: ImportedFormat;
  readonly #deps: ImportDeps;
  readonly #entries: JsonObject[] = [];
  readonly #lastByAgent = new Map<string, string>();
  readonly #entriesByReply = new Map<string, number[]>();
  readonly #notes = new Map<NoteKind, { count: number; details: Set<string> }>();
  /** The call ids in use, and for each id of the source the calls without a result, oldest first. */
  readonly #calls = new Set<string>();
  readonly #openBySource = new Map<string, string[]>();

  constructor(format: ImportedFormat, deps: ImportDeps) {
    this.#format = format;
    this.#deps = deps;
  }

  get last(): string | undefined {
    return this.#lastByAgent.get("");
  }

  /** The next entry is the root of another conversation in the same file. */
  startConversation(): void {
    this.#lastByAgent.clear();
  }

  note(kind: NoteKind, detail: string): void {
    const earlier = this.#notes.get(kind);
    if (earlier === undefined) this.#notes.set(kind, { count: 1, details: new Set([detail]) });
    else {
      earlier.count += 1;
      earlier.details.add(detail);
    }
  }

  noteDamage(lines: readonly number[]): void {
    for (const line of lines) this.note("damaged", `line ${line} is not JSON`);
  }

  noteTorn(): void {
    this.note("damaged", "the document is cut off: read as far as it goes");
  }

  /** An id for a reply without an id in the source. The same source always gives the same id. */
  replyId(name: string): string {
    const { sessionId = "" } = this.circumstances;
    return `msg_${this.#deps.sha256(`${this.#format}\nreply\n${sessionId}\n${name}`).slice(0, 24)}`;
  }

  /** Returns the entry's uuid. */
  add(fields: JsonObject, placing: EntryPlacement = {}): string {
    const agent = placing.agent ?? "";
    const position = this.#entries.length;
    const uuid = uuidFromHash(this.#deps.sha256(`${this.#format}\n${position}\n${JSON.stringify(fields)}`));
    const parentUuid = placing.parent === undefined ? (this.#lastByAgent.get(agent) ?? null) : placing.parent;
    if (placing.timestamp === undefined) this.note("no-timestamp", "entries without a time");
    this.#entries.push({
      parentUuid,
      isSidechain: agent !== "",
      ...withoutEmpty({ agentId: agent }),
      userType: "external",
      ...withoutEmpty({ ...this.circumstances }),
      ...fields,
      uuid,
      ...withoutEmpty({ timestamp: placing.timestamp }),
    });
    this.#lastByAgent.set(agent, uuid);
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
    const positions = this.#entriesByReply.get(id);
    if (positions === undefined) this.#entriesByReply.set(id, [position]);
    else positions.push(position);
    if (usage !== undefined) this.usage(id, usage);
    return uuid;
  }

  /** Writes the provider's counts for a reply into each of its entries, as the ecosystem's format does. */
  usage(reply: string, usage: JsonObject): void {
    for (const at of this.#entriesByReply.get(reply) ?? []) {
      const entry = this.#entries[at];
      const message = entry?.["message"];
      if (entry !== undefined && isObject(message)) this.#entries[at] = { ...entry, message: { ...message, usage } };
    }
  }

  /** A call's block with a unique id. */
  call(source: { readonly id: string; readonly name: string; readonly input: JsonObject }): JsonObject {
    const base = source.id === "" ? `call_${this.#calls.size + 1}` : source.id;
    let id = base;
    for (let n = 2; this.#calls.has(id); n += 1) id = `${base}-${n}`;
    if (id !== source.id) this.note("call-id-changed", "the source gives several calls one id, or none");
    this.#calls.add(id);
    const open = this.#openBySource.get(source.id);
    if (open === undefined) this.#openBySource.set(source.id, [id]);
    else open.push(id);
    return { type: "tool_use", id, name: source.name === "" ? "tool" : source.name, input: source.input };
  }

  /** The input of a call as an object, whether the source has an object or JSON text. */
  input(value: Json | undefined): JsonObject {
    if (isObject(value)) return value;
    if (typeof value !== "string") return {};
    try {
      const parsed = parseJson(value);
      if (isObject(parsed)) return parsed;
    } catch {
      // Noted below: models sometimes write arguments that are not JSON.
    }
    if (value.trim() === "") return {};
    this.note("input-not-json", "the arguments of a call are not a JSON object: kept as text under `input`");
    return { input: value };
  }

  result(draft: ResultDraft, placing: EntryPlacement = {}): string {
    const call = this.#takeOpenCall(draft);
    if (call === undefined) this.note("result-without-call", "its call is not in the source");
    const error = draft.isError === true ? { is_error: true } : {};
    const block = { type: "tool_result", tool_use_id: call ?? draft.id, content: draft.content, ...error };
    return this.add({ type: "user", message: { role: "user", content: [block] } }, placing);
  }

  /** The call that the result answers: the given call, or else the oldest open one with that id. It is no longer open then. */
  #takeOpenCall({ id, call }: ResultDraft): string | undefined {
    const open = this.#openBySource.get(id) ?? [];
    const at = call === undefined ? 0 : open.indexOf(call);
    return at === -1 ? undefined : open.splice(at, 1)[0];
  }

  /** Adds a boundary and then its summary, with which the view begins from then on. */
  boundary(draft: BoundaryDraft, placing: EntryPlacement = {}): void {
    const last = this.#lastByAgent.get(placing.agent ?? "");
    const before = placing.parent === undefined ? last : (placing.parent ?? undefined);
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

  /** Kept for the user and for replay; the messages do not include it. */
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
      if (!Object.hasOwn(message, "model")) this.note("no-model", "replies without a model");
    }
    const notes = [...this.#notes].map(([kind, { count, details }]): ImportNote => {
      const detail = [...details].slice(0, noteDetailsMax).join("; ");
      return { kind, count, detail: details.size > noteDetailsMax ? `${detail}; …` : detail };
    });
    return { entries: this.#entries, notes: notes.toSorted((a, b) => a.kind.localeCompare(b.kind)) };
  }
}

export const textBlock = (text: string): JsonObject => ({ type: "text", text });

export const textBlocks = (text: string): JsonObject[] => (text.trim() === "" ? [] : [textBlock(text)]);

export const thinkingBlock = (thinking: string, signature = ""): JsonObject => ({
  type: "thinking",
  thinking,
  signature,
});

/** The blocks of a chat-completions message, whose content is text or a list of parts. */
export function chatContent(content: Json | undefined): JsonObject[] {
  if (typeof content === "string") return textBlocks(content);
  if (!isArray(content)) return [];
  return content.flatMap((part) => {
    const url = textAt(objectAt(part, "image_url"), "url");
    const image = url === "" ? undefined : mediaBlockFromUrl(url);
    return image === undefined ? textBlocks(textAt(part, "text")) : [image];
  });
}

/** The content of a result in a chat-completions message. */
export const chatResult = (content: Json | undefined): string | readonly JsonObject[] =>
  typeof content === "string" ? content : resultContent(chatContent(content));

/** A string, or blocks if there is more than text. */
export const resultContent = (blocks: readonly JsonObject[]): string | readonly JsonObject[] =>
  blocks.every((block) => block["type"] === "text") ? joinTexts(blocks) : blocks;

/** The text of a chat-completions message. */
export const chatText = (content: Json | undefined): string => joinTexts(chatContent(content));

const joinTexts = (blocks: readonly JsonObject[]): string => blocks.map((block) => textAt(block, "text")).join("\n");

/** The blocks of an assistant message: thinking, text, then its calls. */
export function chatReply(log: DraftLog, message: JsonObject): JsonObject[] {
  const signed = objectsAt(message, "thinking_blocks").map((block) =>
    thinkingBlock(textAt(block, "thinking"), textAt(block, "signature")),
  );
  const reasoning = textAt(message, "reasoning_content");
  const thinking = signed.length > 0 || reasoning === "" ? signed : [thinkingBlock(reasoning)];
  const calls = objectsAt(message, "tool_calls").map((call) => {
    const calledFunction = objectAt(call, "function");
    const input = log.input(calledFunction["arguments"]);
    return log.call({ id: textAt(call, "id"), name: textAt(calledFunction, "name"), input });
  });
  return [...thinking, ...chatContent(message["content"]), ...calls];
}
