import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { type BlobId, blobId } from "../../packages/palimpsest/src/schema/brand.ts";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import {
  anyMove,
  type BoundaryMove,
  type CallPlan,
  type EditMove,
  type Move,
  othersMove,
  type Part,
  type ReplyMove,
  type ResultForm,
  soundMove,
} from "./move.ts";

/** A generated log in the ecosystem's form, and what a test must know to judge what is made of it. */
export interface History {
  readonly lines: readonly string[];
  readonly blobs: ReadonlyMap<BlobId, Uint8Array>;
  /** By call id: the result as the tool returned it, also where the log holds only a preview. */
  readonly originals: ReadonlyMap<string, string>;
}

/** Interprets moves, one after the other, against what the log holds so far. */
export class HistoryWriter {
  readonly lines: string[] = [];
  readonly blobs = new Map<BlobId, Uint8Array>();
  readonly originals = new Map<string, string>();
  readonly edits: string[] = [];
  #serial = 0;
  /** Tells the uuids of histories apart that count alike. */
  #stamp = 1;
  #leaf: string | null = null;
  #nextUuid: string | undefined;
  readonly #entries: string[] = [];
  readonly #replies: string[] = [];
  readonly #calls: { readonly id: string; readonly entry: string }[] = [];
  readonly #attachments: string[] = [];
  readonly #answered = new Set<string>();
  #nextCall: string | undefined;

  get history(): History {
    return { lines: this.lines, blobs: this.blobs, originals: this.originals };
  }

  /** The same log so far, to go on with differently. */
  fork(): HistoryWriter {
    const fork = new HistoryWriter();
    fork.lines.push(...this.lines);
    fork.edits.push(...this.edits);
    for (const [id, bytes] of this.blobs) fork.blobs.set(id, bytes);
    for (const [id, text] of this.originals) fork.originals.set(id, text);
    for (const id of this.#answered) fork.#answered.add(id);
    fork.#serial = this.#serial;
    fork.#stamp = this.#stamp;
    fork.#leaf = this.#leaf;
    fork.#nextUuid = this.#nextUuid;
    fork.#nextCall = this.#nextCall;
    fork.#entries.push(...this.#entries);
    fork.#replies.push(...this.#replies);
    fork.#calls.push(...this.#calls);
    fork.#attachments.push(...this.#attachments);
    return fork;
  }

  /** Goes on counting where another history of the same beginning stands, so that the same moves say the same words. */
  adoptSerial(other: HistoryWriter): void {
    this.#serial = other.#serial;
    this.#stamp += 1;
  }

  play(moves: Iterable<Move>): this {
    for (const move of moves) this.#step(move);
    return this;
  }

  /** Appends an undo of an edit behind the leaf. */
  undo(edit: string): string {
    return this.#edit({ type: "undo", edit });
  }

  #step(move: Move): void {
    switch (move.do) {
      case "user":
        this.#user(move.form);
        return;
      case "reply":
        this.#reply(move);
        return;
      case "more":
        this.#more(move);
        return;
      case "result":
        this.#oneResult(chosen(this.#calls, move.pick), move.form);
        return;
      case "orphan":
        this.#oneResult({ id: `toolu_orphan_${this.#next()}`, entry: "" }, "text");
        return;
      case "early-result":
        this.#nextCall ??= `toolu_${this.#next()}`;
        this.#oneResult({ id: this.#nextCall, entry: "" }, "text");
        return;
      case "error":
        this.#add({
          type: "assistant",
          isApiErrorMessage: true,
          message: {
            role: "assistant",
            model: "<synthetic>",
            id: `err_${this.#next()}`,
            content: [{ type: "text", text: "API Error: 529" }],
          },
        });
        return;
      case "sidechain":
        this.#add(
          { type: "user", isSidechain: true, message: { role: "user", content: `side ${this.#next()}` } },
          { leaf: "stays" },
        );
        return;
      case "new-root":
        this.#leaf = null;
        return;
      case "missing-parent":
        this.#leaf = `nowhere-${this.#next()}`;
        return;
      case "own-parent":
        this.#nextUuid = this.#leaf = `own-${this.#next()}`;
        return;
      case "later-parent":
        this.#laterParent();
        return;
      case "attachment":
        this.#attachment(move.form);
        return;
      case "noise":
        this.#noise(move.form);
        return;
      case "rewind":
        this.#leaf = chosen(this.#entries, move.pick) ?? null;
        return;
      case "duplicate-uuid":
        this.#nextUuid = chosen(this.#entries, move.pick);
        return;
      default:
        this.edit(move);
    }
  }

  #user(form: Extract<Move, { do: "user" }>["form"]): void {
    const text = `u${this.#next()} é 漢 🙂`;
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
    const odd = [
      { type: "widget", w: 1 },
      { type: "text" },
      { type: "text", text, cache_control: { type: "ephemeral" } },
      "bare",
    ];
    const contents = {
      string: text,
      blocks: [{ type: "text", text }],
      empty: "",
      blank: [{ type: "text", text: " \n" }],
      image: [image, { type: "text", text }],
      odd,
      none: [],
      meta: text,
    };
    this.#add({
      type: "user",
      message: { role: "user", content: contents[form] },
      ...(form === "meta" ? { isMeta: true } : {}),
    });
  }

  #reply(move: ReplyMove): void {
    const id = move.id === "given" ? `msg_${this.#next()}` : undefined;
    if (id !== undefined) this.#replies.push(id);
    const calls = move.calls.map((plan) => ({ plan, id: this.#callId(plan) }));
    const parts = move.parts.map((part) => this.#part(part));
    const uses = calls.map((call) => toolUse(call.id, this.#next()));
    if (move.layout === "whole") {
      const entry = this.#assistant(id, [...parts, ...uses]);
      this.#results(
        move,
        calls.map((call) => ({ ...call, entry })),
      );
      return;
    }
    for (const part of parts) this.#assistant(id, [part]);
    const entered: (PlannedCall & { entry: string })[] = [];
    for (const [at, call] of calls.entries()) {
      const entry = this.#assistant(id, uses.slice(at, at + 1));
      entered.push({ ...call, entry });
      if (move.layout === "interleaved") this.#results(move, [{ ...call, entry }]);
    }
    if (move.layout === "split") this.#results(move, entered);
  }

  #results(move: ReplyMove, calls: readonly (PlannedCall & { readonly entry: string })[]): void {
    for (const { id, entry } of calls) this.#calls.push({ id, entry });
    const answered = calls.filter((call) => call.plan.result !== "never");
    const ordered = move.order === "reversed" ? answered.toReversed() : answered;
    if (move.order === "together" && ordered.length > 1) {
      const blocks = ordered.flatMap(({ id, plan }) => this.#resultBlocks(id, formOf(plan)));
      this.#add({ type: "user", message: { role: "user", content: blocks } });
      this.#offload(ordered.map(({ id, plan }) => ({ id, form: formOf(plan) })));
      return;
    }
    for (const { id, entry, plan } of ordered) {
      const parent = move.parents === "call" ? entry : undefined;
      this.#oneResult({ id, entry }, formOf(plan), parent);
      if (plan.result === "twice") this.#oneResult({ id, entry }, "text", parent);
    }
  }

  #oneResult(
    call: { readonly id: string; readonly entry: string } | undefined,
    form: ResultForm,
    parent?: string,
  ): void {
    if (call === undefined) return;
    const blocks = this.#resultBlocks(call.id, form);
    this.#add(
      {
        type: "user",
        message: { role: "user", content: blocks },
        toolUseResult: { type: "text", stdout: "for people" },
      },
      parent === undefined ? {} : { parent },
    );
    this.#offload([{ id: call.id, form }]);
  }

  #resultBlocks(id: string, form: ResultForm): JsonObject[] {
    const text = `r${this.#next()} “x” of ${id}`;
    const blocks = [
      { type: "text", text },
      { type: "text", text: `${text} again` },
    ];
    const contents: Record<ResultForm, JsonObject[string] | undefined> = {
      text,
      blocks,
      empty: "",
      missing: undefined,
      error: text,
      "with-text": text,
      offloaded: `preview of ${id}`,
      "offloaded-blocks": `preview of ${id}`,
      "odd-part": [
        { type: "widget", text },
        { type: "text", text: "" },
      ],
    };
    const content = contents[form];
    if (!this.originals.has(id)) this.originals.set(id, originalOf({ form, text, blocks, content }));
    this.#answered.add(id);
    const result: JsonObject = {
      type: "tool_result",
      tool_use_id: id,
      ...(content === undefined ? {} : { content }),
      ...(form === "error" ? { is_error: true } : {}),
    };
    return form === "with-text"
      ? [{ type: "text", text: `before ${text}` }, result, { type: "text", text: `after ${text}` }]
      : [result];
  }

  /** The result was kept elsewhere before it was logged: the log holds the preview, the blob the original. */
  #offload(results: readonly { readonly id: string; readonly form: ResultForm }[]): void {
    const kept = results.filter(({ form }) => form === "offloaded" || form === "offloaded-blocks");
    if (kept.length === 0) return;
    const replacements = kept.map(({ id, form }) => {
      const bytes = new TextEncoder().encode(this.originals.get(id) ?? "");
      const blob = this.#blob(bytes);
      const isJson = form === "offloaded-blocks" && (this.originals.get(id) ?? "").startsWith("[");
      return { toolUse: id, blob, media: isJson ? "json" : "text", bytes: bytes.length, shown: `preview of ${id}` };
    });
    this.#edit({ type: "offload", results: replacements });
  }

  #more({ pick, part }: Extract<Move, { do: "more" }>): void {
    const reply = chosen(this.#replies, pick);
    if (reply === undefined) return;
    if (part !== "call") {
      this.#assistant(reply, [this.#part(part)]);
      return;
    }
    const id = this.#callId({ id: "plain", result: "never" });
    this.#calls.push({ id, entry: this.#assistant(reply, [toolUse(id, this.#next())]) });
  }

  #attachment(form: Extract<Move, { do: "attachment" }>["form"]): void {
    const text = `a${this.#next()}`;
    const bodies: Record<typeof form, JsonObject> = {
      file: { type: "file", filename: "a.txt", content: { type: "text", file: { content: text } } },
      task_reminder: { type: "task_reminder", content: [] },
      hook_success: { type: "hook_success", content: text },
      todo: { type: "todo", content: [{ content: text, status: "pending" }] },
      queued_command: { type: "queued_command", prompt: text },
      blank: { type: "hook_additional_context", content: [" "] },
    };
    this.#attachments.push(this.#add({ type: "attachment", attachment: bodies[form] }));
  }

  #noise(form: Extract<Move, { do: "noise" }>["form"]): void {
    const n = this.#next();
    switch (form) {
      case "progress":
        this.#add({
          type: "progress",
          data: { message: { type: "user", message: { role: "user", content: `nested ${n}` } } },
        });
        return;
      case "progress-beside":
        this.#add({ type: "progress", data: { n } }, { leaf: "stays" });
        return;
      case "system":
        this.#add({ type: "system", subtype: "turn_duration", durationMs: n });
        return;
      case "no-uuid":
        this.lines.push(JSON.stringify({ type: "file-history-snapshot", messageId: `m${n}`, snapshot: {} }));
        return;
      case "unknown":
        this.#add({ type: "kind-of-next-year", payload: [n] });
        return;
      case "title":
        this.lines.push(JSON.stringify({ type: "summary", summary: `title ${n}`, leafUuid: this.#leaf }));
        return;
      case "malformed-edit":
        this.#add({ type: "clear", results: "all", n });
        return;
      case "no-message":
        this.#add({ type: "assistant", note: n });
    }
  }

  /** An entry whose parent comes after it, and that parent's parent is the entry: a cycle once both are there. */
  #laterParent(): void {
    const later = `later-${this.#next()}`;
    this.#leaf = later;
    this.#user("string");
    this.#nextUuid = later;
    this.#user("string");
  }

  /** Appends one edit; returns its uuid, or undefined where the log holds nothing it could be about. */
  edit(move: EditMove): string | undefined {
    switch (move.do) {
      case "offload":
        return this.#replace(move.picks, (results) => ({ type: "offload", results }));
      case "clear": {
        const attachments = this.#chosenOf(this.#attachments, move.attachments);
        return this.#replace(move.picks, (results) => ({ type: "clear", results, attachments, cause: "size" }));
      }
      case "microcompact": {
        const compactedToolIds = this.#chosenOf(this.#calls, move.picks).map((call) => call.id);
        const clearedAttachmentUUIDs = this.#chosenOf(this.#attachments, move.attachments);
        return this.#edit({
          type: "system",
          subtype: "microcompact_boundary",
          microcompactMetadata: { compactedToolIds, clearedAttachmentUUIDs },
        });
      }
      case "snip":
        return this.#edit({ type: "snip", entries: this.#chosenOf(this.#entries, move.picks) });
      case "collapse": {
        const span = { from: chosen(this.#entries, move.from) ?? "x", to: chosen(this.#entries, move.to) ?? "x" };
        return this.#edit({ type: "collapse", span, shown: `collapsed ${this.#next()}` });
      }
      case "pin":
      case "unpin":
        return this.#edit({ type: move.do, entry: chosen(this.#entries, move.pick) ?? "x" });
      case "undo":
        return this.edits.length === 0
          ? undefined
          : this.#edit({ type: "undo", edit: chosen(this.edits, move.pick) ?? "x" });
      case "repair":
        return this.#repair(move);
      case "boundary":
        return this.#boundary(move);
      case "setting":
        return this.#edit({ type: "setting", name: "size", value: move.value });
      case "leave-out": {
        const shown = move.part === "thinking" ? {} : { shown: `left out ${this.#next()}` };
        const entries = this.#chosenOf(this.#entries, move.picks).map((entry) => ({ entry, ...shown }));
        return this.#edit({ type: "leave-out", part: move.part, entries });
      }
      case "server-edits":
        return this.#edit({
          type: "server-edits",
          deleted: this.#chosenOf(this.#calls, [move.pick]).map((call) => call.id),
        });
      case "branch":
        this.#leaf = chosen(this.#entries, move.pick) ?? null;
        return this.#edit({ type: "branch" });
    }
  }

  #replace(picks: readonly number[], edit: (results: object[]) => Raw): string | undefined {
    const calls = this.#chosenOf(this.#calls, picks);
    if (calls.length === 0) return undefined;
    const n = this.#next();
    return this.#edit(edit(calls.map(({ id }) => ({ toolUse: id, shown: `stub ${n} of ${id}` }))));
  }

  #repair(move: Extract<EditMove, { do: "repair" }>): string | undefined {
    const open = this.#calls.filter((call) => !this.#answered.has(call.id));
    const calls = move.of === "open" ? open : this.#chosenOf(this.#calls, [move.pick]);
    if (calls.length === 0) return undefined;
    return this.#edit({
      type: "repair",
      results: calls.map(({ id }) => ({ toolUse: id, shown: `[no result of ${id}]` })),
    });
  }

  #boundary(move: BoundaryMove): string {
    const head = chosen(this.#entries, move.head) ?? "x";
    const tail = chosen(this.#entries, move.tail) ?? "x";
    const segment = { preservedSegment: { headUuid: head, anchorUuid: head, tailUuid: tail } };
    const metadata = {
      nothing: {},
      segment,
      messages: { preservedMessages: { uuids: [head, tail] } },
      front: { direction: "from", pivot: head },
      "front-and-segment": { direction: "from", pivot: head, ...segment },
      unknown: { preservedSegment: { headUuid: "x", tailUuid: tail } },
    };
    const logical = this.#leaf;
    const uuid = this.#edit(
      {
        type: "system",
        subtype: "compact_boundary",
        content: "Conversation compacted",
        ...(logical === null ? {} : { logicalParentUuid: logical }),
        compactMetadata: { trigger: "auto", preTokens: 1, ...metadata[move.keeps] },
      },
      null,
    );
    if (move.summary === "after-edit") this.#edit({ type: "setting", name: "between", value: 1 });
    if (move.summary === "after-talk") this.#user("string");
    if (move.summary !== "never") {
      this.#add({
        type: "user",
        isCompactSummary: true,
        isVisibleInTranscriptOnly: true,
        message: { role: "user", content: `summary ${this.#next()}` },
      });
    }
    return uuid;
  }

  #edit(raw: Raw, parent?: null): string {
    const uuid = this.#add(raw, parent === null ? { parent } : {});
    this.edits.push(uuid);
    return uuid;
  }

  #assistant(id: string | undefined, content: readonly JsonObject[]): string {
    return this.#add({
      type: "assistant",
      message: { role: "assistant", ...(id === undefined ? {} : { id }), model: "m", content },
    });
  }

  #part(part: Part): JsonObject {
    const n = this.#next();
    const parts: Record<Part, JsonObject> = {
      text: { type: "text", text: `t${n}` },
      blank: { type: "text", text: "\n" },
      thinking: { type: "thinking", thinking: `h${n}`, signature: `s${n}` },
      unsigned: { type: "thinking", thinking: `h${n}`, signature: "" },
      redacted: { type: "redacted_thinking", data: `d${n}` },
      unknown: { type: "fallback", to: n },
      "server-tool": { type: "server_tool_use", id: `srv_${n}`, name: "web_search", input: {} },
    };
    return parts[part];
  }

  #callId(plan: CallPlan): string {
    const repeated = plan.id === "repeated" ? chosen(this.#calls, 0)?.id : undefined;
    const early = this.#nextCall;
    this.#nextCall = undefined;
    return repeated ?? early ?? (plan.id === "odd" ? `call:${this.#next()}|x` : `toolu_${this.#next()}`);
  }

  #add(raw: Raw, options: { readonly parent?: string | null; readonly leaf?: "stays" } = {}): string {
    const parentUuid = options.parent === undefined ? this.#leaf : options.parent;
    const uuid = this.#nextUuid ?? `e${"-".repeat(this.#stamp)}${this.#next()}`;
    this.#nextUuid = undefined;
    const { isSidechain = false, ...fields } = raw;
    this.lines.push(
      JSON.stringify({
        parentUuid,
        isSidechain,
        sessionId: "s",
        ...fields,
        uuid,
        timestamp: "2026-01-01T00:00:00.000Z",
      }),
    );
    if (options.leaf !== "stays") {
      this.#leaf = uuid;
      this.#entries.push(uuid);
    }
    return uuid;
  }

  #blob(bytes: Uint8Array): BlobId {
    const id = blobId(createHash("sha256").update(bytes).digest("hex"));
    this.blobs.set(id, bytes);
    return id;
  }

  #chosenOf<T>(list: readonly T[], picks: readonly number[]): T[] {
    return [...new Set(picks.flatMap((pick) => chosen(list, pick) ?? []))];
  }

  #next(): number {
    this.#serial += 1;
    return this.#serial;
  }
}

interface Raw {
  readonly type: string;
  readonly [field: string]: unknown;
}
interface PlannedCall {
  readonly plan: CallPlan;
  readonly id: string;
}

/** Counted from the end: 0 is the newest, which is what most moves of a real session are about. */
const chosen = <T>(list: readonly T[], pick: number): T | undefined =>
  list.length === 0 ? undefined : list[list.length - 1 - (pick % list.length)];

const formOf = (plan: CallPlan): ResultForm =>
  plan.result === "never" || plan.result === "twice" ? "text" : plan.result;

const toolUse = (id: string, n: number): JsonObject => ({ type: "tool_use", id, name: `Tool${n % 3}`, input: { n } });

function originalOf({
  form,
  text,
  blocks,
  content,
}: {
  form: ResultForm;
  text: string;
  blocks: unknown;
  content: unknown;
}): string {
  if (form === "offloaded") return `${text} in full`;
  if (form === "offloaded-blocks") return JSON.stringify(blocks);
  return typeof content === "string" ? content : JSON.stringify(content ?? []);
}

const written = (moves: readonly Move[]): History & fc.WithToStringMethod => {
  const { history } = new HistoryWriter().play(moves);
  return { ...history, [fc.toStringMethod]: () => `${JSON.stringify(moves)}\n${history.lines.join("\n")}\n` };
};

const histories = (move: fc.Arbitrary<Move>): fc.Arbitrary<History> =>
  fc.array(move, { minLength: 1, maxLength: 24 }).map(written);

/** Anything that a log may hold, broken identities included. */
export const anyHistory = histories(anyMove);
export const othersHistory = histories(othersMove);
/** Anything but broken identities. */
export const soundHistory = histories(soundMove);
