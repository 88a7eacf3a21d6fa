import { denialReason, isUnaskedDenial } from "palimpsest/internal/loop/ask-user";
import { interruptedByUser } from "palimpsest/internal/loop/run-calls";
import type { Block, ResultContent, ToolUseBlock } from "palimpsest/internal/schema/block";
import type { EntryId, ToolUseId } from "palimpsest/internal/schema/brand";
import type { CompactionPath } from "palimpsest/internal/schema/compaction-cause";
import type { BoundaryMetadata, Edit } from "palimpsest/internal/schema/edit";
import { editReason, editLine } from "palimpsest/internal/schema/edit-kinds";
import type { Entry } from "palimpsest/internal/schema/entry";
import { formatCount } from "palimpsest/internal/text/format-count";
import { textField } from "palimpsest/internal/schema/json";
import { lastLine, safeCutIndex } from "palimpsest/internal/text/safe-cut-index";
import { userText } from "palimpsest/internal/transcript/user-text";
import { interruptedText } from "palimpsest/internal/transcript/repair";
import { titleCharsMax } from "../limits.ts";
import { callTitle, parseTextChange } from "../text/call-title.ts";
import { labelByCompactionPath, interruptionText } from "../text/event-lines.ts";
import type { CallItem, ChatItem, ItemId } from "./chat-item.ts";
import { callEndState, type NewItem, type ChatState } from "./chat-state.ts";

/**
 * Adds what the session said before it was opened, from its entries in path order. Costs O(1) per entry. Notices and
 * retries come from events only: no log holds them, so they are missing.
 */
export function restoreChat(state: ChatState, entries: Iterable<Entry>): ChatState {
  const past = collectPast(entries, state.nextId);
  let { done } = state;
  past.endTurn();
  for (const item of past.items()) done = done.with(item);
  return { ...state, done, nextId: past.nextId, coveredTo: past.coveredTo };
}

/** The items as which a chat would show these entries. `running`: calls without a result may still get one. */
export function itemsFromEntries(
  entries: Iterable<Entry>,
  openCalls: "interrupted" | "running" = "interrupted",
): readonly ChatItem[] {
  const past = collectPast(entries, 0);
  return openCalls === "running" ? past.itemsSoFar : past.items();
}

function collectPast(entries: Iterable<Entry>, firstId: ItemId): PastItems {
  const past = new PastItems(firstId);
  for (const entry of entries) past.addEntry(entry);
  return past;
}

/** Builds the items entry by entry. A call waits at its place for its result. */
class PastItems {
  readonly #items: ChatItem[] = [];
  readonly #firstId: ItemId;
  /** Indexes of the calls without a result. */
  readonly #indexByCall = new Map<ToolUseId, number>();
  #turn: "unanswered" | "over" = "over";
  coveredTo: ItemId;

  constructor(firstId: ItemId) {
    this.#firstId = firstId;
    this.coveredTo = firstId;
  }

  get nextId(): ItemId {
    return this.#firstId + this.#items.length;
  }

  get itemsSoFar(): readonly ChatItem[] {
    return this.#items;
  }

  /** Calls that have no result yet will never get one. */
  items(): readonly ChatItem[] {
    for (const call of this.#indexByCall.keys()) this.#endCall(call, { state: "interrupted", summary: "" });
    return this.#items;
  }

  addEntry(entry: Entry): void {
    if (entry.sidechain) return;
    switch (entry.kind) {
      case "user":
        for (const block of entry.blocks) if (block.type === "tool_result") this.#addResult(block, entry.resultSummary);
        this.#addUserMessage(entry);
        return;
      case "attachment":
        this.#addUserMessage(entry);
        return;
      case "assistant":
        for (const block of entry.blocks) this.#addReplyBlock(block, entry.id);
        return;
      case "edit":
        this.#addEdit(entry.id, entry.edit);
        return;
      case "other":
        return;
    }
  }

  /** The log does not say how a turn ended, but it shows if nothing followed its last message or result. */
  endTurn(): void {
    if (this.#turn === "unanswered") this.#add({ kind: "notice", tone: "plain", text: interruptionText });
    this.#turn = "over";
  }

  #addUserMessage(entry: Entry): void {
    const text = userText(entry);
    if (text === undefined) return;
    if (entry.kind === "user") this.endTurn();
    this.#turn = "unanswered";
    this.#add({ kind: "user", text, when: entry.kind === "attachment" ? "meanwhile" : "first", entry: entry.id });
  }

  #addReplyBlock(block: Block, entry: EntryId | undefined): void {
    if (block.type === "text" && block.text.trim() !== "") {
      this.#turn = "over";
      this.#add({ kind: "text", text: block.text, state: "whole", entry });
    }
    if (block.type === "thinking" && block.thinking.trim() !== "")
      this.#add({ kind: "thinking", text: block.thinking, state: "whole", entry });
    else if (block.type === "tool_use") this.#addCall(block, entry);
  }

  #addCall({ id, name, input }: ToolUseBlock, entry: EntryId | undefined): void {
    this.#turn = "unanswered";
    this.#indexByCall.set(id, this.#items.length);
    const change = parseTextChange(name, input);
    const title = callTitle(name, input);
    const item = { kind: "call", call: id, tool: name, title, state: "running", summary: "", entry } as const;
    this.#add(change === undefined ? item : { ...item, change });
  }

  /** Shows the summary of the original event if the log has it, else one made from the result. */
  #addResult(
    { tool_use_id, content, is_error }: Extract<Block, { type: "tool_result" }>,
    loggedSummary: string | undefined,
  ): void {
    const text = resultText(content);
    const call = this.#items[this.#indexByCall.get(tool_use_id) ?? -1];
    const isCommand = call?.kind === "call" && call.tool === "bash";
    const line = isCommand ? lastLine(text, titleCharsMax) || "no output" : summarizeResult(text);
    const summary = loggedSummary ?? denialReason(text) ?? line;
    this.#endCall(tool_use_id, { state: is_error === true ? failureState(text) : "done", summary });
  }

  #endCall(id: ToolUseId, end: Pick<CallItem, "state" | "summary">): void {
    const index = this.#indexByCall.get(id) ?? -1;
    const call = this.#items[index];
    if (call?.kind !== "call") return;
    this.#items[index] = { ...call, ...callEndState({ tool: call.tool, ...end }) };
    this.#indexByCall.delete(id);
  }

  #addEdit(id: EntryId, edit: Edit): void {
    if (edit.type === "boundary") this.#addBoundary(id, edit.metadata);
    if (edit.type === "repair")
      for (const { toolUse } of edit.results) this.#endCall(toolUse, { state: "interrupted", summary: "" });
    const line = editLine(edit);
    if (line !== undefined) this.#add({ kind: "edit", line, because: editReason(edit) ?? "", entries: [id] });
  }

  #addBoundary(id: EntryId, { preTokens, postTokens, path, made }: BoundaryMetadata): void {
    const covers = { from: this.coveredTo, to: this.nextId };
    this.coveredTo = covers.to;
    const sizes = preTokens === undefined || postTokens === undefined ? "" : `: ${formatSizes(preTokens, postTokens)}`;
    const how =
      path === undefined || !isKnownPath(path) ? "" : `${sizes === "" ? ":" : ","} ${labelByCompactionPath[path]}`;
    const line = `Compacted${sizes}${how}${made === "ahead" ? ", made ahead" : ""}.`;
    this.#add({ kind: "compacted", line, covers, entries: [id] });
  }

  #add(item: NewItem): void {
    this.#items.push({ ...item, id: this.nextId });
  }
}

/** A log only marks a result as an error; its text says which kind it is. */
function failureState(text: string): CallItem["state"] {
  if (text.startsWith(interruptedByUser) || text.startsWith(interruptedText)) return "interrupted";
  return denialReason(text) === undefined && !isUnaskedDenial(text) ? "failed" : "denied";
}

/** Another program, or a later version, may write other paths. */
const isKnownPath = (path: string): path is CompactionPath => Object.hasOwn(labelByCompactionPath, path);

const formatSizes = (before: number, after: number): string => `${formatCount(before)} → ${formatCount(after)} tokens`;

function resultText(content: ResultContent | undefined): string {
  if (content === undefined || typeof content === "string") return content ?? "";
  return content.map((part) => textField(part, "text") ?? `[${textField(part, "type") ?? "block"}]`).join("\n");
}

/** A result in one line: its first line, and how many lines it has if there are more. */
function summarizeResult(result: string): string {
  const start = result.search(/\S/);
  if (start === -1) return "";
  const end = result.indexOf("\n", start);
  const first = result.slice(start, end === -1 ? undefined : end).trimEnd();
  const shown = first.length <= titleCharsMax ? first : `${first.slice(0, safeCutIndex(first, titleCharsMax))}…`;
  const lines = countLines(result);
  return lines === 1 ? shown : `${shown} (${formatCount(lines)} lines)`;
}

function countLines(result: string): number {
  const whole = result.trimEnd();
  let count = 1;
  for (let at = whole.indexOf("\n"); at !== -1; at = whole.indexOf("\n", at + 1)) count += 1;
  return count;
}
