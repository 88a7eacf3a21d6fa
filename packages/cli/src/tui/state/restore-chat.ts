import { denialReason } from "palimpsest/internal/loop/ask-user";
import { interruptedByUser } from "palimpsest/internal/loop/run-calls";
import type { Block, ResultContent, ToolUseBlock } from "palimpsest/internal/schema/block";
import type { EntryId, ToolUseId } from "palimpsest/internal/schema/brand";
import type { CompactionPath } from "palimpsest/internal/schema/compaction-cause";
import type { BoundaryMetadata, Edit } from "palimpsest/internal/schema/edit";
import { editReason, editLine } from "palimpsest/internal/schema/edit-kinds";
import type { Entry } from "palimpsest/internal/schema/entry";
import { formatCount } from "palimpsest/internal/schema/format-count";
import { textField } from "palimpsest/internal/schema/json";
import { lastLine, safeCutIndex } from "palimpsest/internal/schema/safe-cut-index";
import { userText } from "palimpsest/internal/transcript/user-text";
import { interruptedText } from "palimpsest/internal/transcript/repair";
import { titleCharsMax } from "../limits.ts";
import { callTitle, parseTextChange } from "../text/call-title.ts";
import { labelByCompactionPath, interruptionText } from "../text/event-lines.ts";
import { callEndState, type NewItem } from "./add-item.ts";
import type { CallItem, ChatItem, ItemId } from "./chat-item.ts";
import type { ChatState } from "./chat-state.ts";

/**
 * The chat with what a session said before it was opened, from its entries in the order of the path. Costs O(1) an entry.
 * What only events told, as notices and retries, is not in a log and so not here.
 */
export function restoreChat(state: ChatState, entries: Iterable<Entry>): ChatState {
  const past = collectPast(entries, state.nextId);
  let { done } = state;
  past.endTurn();
  for (const item of past.items()) done = done.with(item);
  return { ...state, done, nextId: past.nextId, coveredTo: past.coveredTo };
}

/** Entries alone, as a chat would show them. */
export const itemsFromEntries = (entries: Iterable<Entry>): readonly ChatItem[] => collectPast(entries, 0).items();

function collectPast(entries: Iterable<Entry>, firstId: ItemId): PastItems {
  const past = new PastItems(firstId);
  for (const entry of entries) past.addEntry(entry);
  return past;
}

/** Items as they come to be. A call waits for its result at its own place. */
class PastItems {
  readonly #items: ChatItem[] = [];
  readonly #firstId: ItemId;
  /** Those without a result. */
  readonly #placeByCall = new Map<ToolUseId, number>();
  #turn: "unanswered" | "over" = "over";
  coveredTo: ItemId;

  constructor(firstId: ItemId) {
    this.#firstId = firstId;
    this.coveredTo = firstId;
  }

  get nextId(): ItemId {
    return this.#firstId + this.#items.length;
  }

  /** Calls that nothing has answered will not be. */
  items(): readonly ChatItem[] {
    for (const call of this.#placeByCall.keys()) this.#ended(call, { state: "interrupted", summary: "" });
    return this.#items;
  }

  addEntry(entry: Entry): void {
    if (entry.sidechain) return;
    switch (entry.kind) {
      case "user":
        for (const block of entry.blocks) if (block.type === "tool_result") this.#answer(block, entry.resultSummary);
        this.#person(entry);
        return;
      case "attachment":
        this.#person(entry);
        return;
      case "assistant":
        for (const block of entry.blocks) this.#reply(block);
        return;
      case "edit":
        this.#edit(entry.id, entry.edit);
        return;
      case "other":
        return;
    }
  }

  /** How a turn ended is in no log; that nothing was said behind its last message or result is. */
  endTurn(): void {
    if (this.#turn === "unanswered") this.#show({ kind: "notice", tone: "plain", text: interruptionText });
    this.#turn = "over";
  }

  #person(entry: Entry): void {
    const said = userText(entry);
    if (said === undefined) return;
    if (entry.kind === "user") this.endTurn();
    this.#turn = "unanswered";
    this.#show({ kind: "person", text: said, when: entry.kind === "attachment" ? "meanwhile" : "first" });
  }

  #reply(block: Block): void {
    if (block.type === "text" && block.text.trim() !== "") {
      this.#turn = "over";
      this.#show({ kind: "text", text: block.text, state: "whole" });
    }
    if (block.type === "thinking" && block.thinking.trim() !== "")
      this.#show({ kind: "thinking", text: block.thinking, state: "whole" });
    else if (block.type === "tool_use") this.#call(block);
  }

  #call({ id, name, input }: ToolUseBlock): void {
    this.#turn = "unanswered";
    this.#placeByCall.set(id, this.#items.length);
    const change = parseTextChange(name, input);
    const title = callTitle(name, input);
    const item = { kind: "call", call: id, tool: name, title, state: "running", summary: "" } as const;
    this.#show(change === undefined ? item : { ...item, change });
  }

  /** As it was told when it came; where the log does not say, as near to that as its text allows. */
  #answer({ tool_use_id, content, is_error }: Extract<Block, { type: "tool_result" }>, kept: string | undefined): void {
    const told = resultText(content);
    const call = this.#items[this.#placeByCall.get(tool_use_id) ?? -1];
    const isCommand = call?.kind === "call" && call.tool === "bash";
    const line = isCommand ? lastLine(told, titleCharsMax) || "no output" : summarizeResult(told);
    const summary = kept ?? denialReason(told) ?? line;
    this.#ended(tool_use_id, { state: is_error === true ? failureState(told) : "done", summary });
  }

  #ended(id: ToolUseId, end: Pick<CallItem, "state" | "summary">): void {
    const place = this.#placeByCall.get(id) ?? -1;
    const call = this.#items[place];
    if (call?.kind !== "call") return;
    this.#items[place] = { ...call, ...callEndState({ tool: call.tool, ...end }) };
    this.#placeByCall.delete(id);
  }

  #edit(id: EntryId, edit: Edit): void {
    if (edit.type === "boundary") this.#boundary(id, edit.metadata);
    if (edit.type === "repair")
      for (const { toolUse } of edit.results) this.#ended(toolUse, { state: "interrupted", summary: "" });
    const line = editLine(edit);
    if (line !== undefined) this.#show({ kind: "edit", line, because: editReason(edit) ?? "", entries: [id] });
  }

  #boundary(id: EntryId, { preTokens, postTokens, path, made }: BoundaryMetadata): void {
    const covers = { from: this.coveredTo, to: this.nextId };
    this.coveredTo = covers.to;
    const sizes = preTokens === undefined || postTokens === undefined ? "" : `: ${formatSizes(preTokens, postTokens)}`;
    const how =
      path === undefined || !isKnownPath(path) ? "" : `${sizes === "" ? ":" : ","} ${labelByCompactionPath[path]}`;
    const line = `Compacted${sizes}${how}${made === "ahead" ? ", made ahead" : ""}.`;
    this.#show({ kind: "compacted", line, covers, entries: [id] });
  }

  #show(item: NewItem): void {
    this.#items.push({ ...item, id: this.nextId });
  }
}

/** A log has one kind of error; how it came to be stands in its words. */
function failureState(told: string): CallItem["state"] {
  if (told.startsWith(interruptedByUser) || told.startsWith(interruptedText)) return "interrupted";
  return denialReason(told) === undefined ? "failed" : "denied";
}

/** Another program, or a later version, may have other ways. */
const isKnownPath = (path: string): path is CompactionPath => Object.hasOwn(labelByCompactionPath, path);

const formatSizes = (before: number, after: number): string => `${formatCount(before)} → ${formatCount(after)} tokens`;

function resultText(content: ResultContent | undefined): string {
  if (content === undefined || typeof content === "string") return content ?? "";
  return content.map((part) => textField(part, "text") ?? `[${textField(part, "type") ?? "block"}]`).join("\n");
}

/** A result in a line: itself where it has only one, else its first words and how long it is. */
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
