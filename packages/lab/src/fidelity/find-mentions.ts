import type { ToolResultBlock, ToolUseBlock } from "palimpsest/internal/schema/block";
import type { EntryId, ToolUseId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { textField } from "palimpsest/internal/schema/json";
import type { RecordedRound } from "../recording/recording.ts";
import { type CallFacts, readCall, type TodoChange } from "./read-call.ts";
import {
  findErrorLines,
  userText,
  findAnswers,
  findDecisions,
  findDetails,
  findObjection,
  toFactLine,
} from "./text-facts.ts";
import { isSaidBy, type MentionPlace, type FactMention, type Fact, type FactKind } from "./fact.ts";

/** All mentions of a recording, in order. Collected once and used for every compaction. */
export interface FactMentions {
  readonly all: readonly FactMention[];
  /** The open todos after each change. */
  readonly todos: readonly TodoList[];
}

interface TodoList {
  readonly at: MentionPlace;
  readonly open: readonly FactMention[];
}

/** One pass, linear in the text. Shares no code with the summariser, the audit or the restoring, so that it shows their blind spots. */
export function findMentions(rounds: readonly RecordedRound[]): FactMentions {
  const reader = new MentionReader();
  for (const [round, { before, reply }] of rounds.entries()) {
    for (const entry of before) reader.read(entry, { round, part: "before" });
    for (const entry of reply) reader.read(entry, { round, part: "reply" });
  }
  return reader;
}

/** The open todos at a compaction that takes place before the request of round `compactedIn`. */
const openTodosBy = ({ todos }: FactMentions, compactedIn: number): readonly FactMention[] =>
  todos.findLast(({ at }) => isSaidBy(at, compactedIn))?.open ?? [];

interface OpenCall {
  readonly call: ToolUseBlock;
  readonly reading: CallFacts;
  readonly entry: EntryId;
}

class MentionReader implements FactMentions {
  readonly all: FactMention[] = [];
  readonly todos: TodoList[] = [];
  readonly #calls = new Map<ToolUseId, OpenCall>();
  #list: readonly FactMention[] = [];
  readonly #tasks = new Map<string, Task>();

  read(entry: Entry, position: Pick<MentionPlace, "round" | "part">): void {
    const { id } = entry;
    if (id === undefined) return;
    const at = { ...position, entry: id };
    const text = userText(entry);
    if (text !== undefined) this.#readUserText(text, at);
    if (!("blocks" in entry)) return;
    for (const block of entry.blocks) {
      if (block.type === "tool_use") this.#readCall(block, at);
      if (block.type === "tool_result") this.#readResult(block, at);
    }
  }

  #readUserText(text: string, at: MentionPlace): void {
    const add = (kind: FactMention["kind"], words: string): void =>
      void this.all.push({ kind, words, at, call: undefined, alsoIn: [], said: text });
    add("userMessages", text);
    for (const words of findDetails(text)) add("details", words);
    for (const words of findDecisions(text)) add("decisions", words);
  }

  #readCall(call: ToolUseBlock, at: MentionPlace): void {
    const reading = readCall(call);
    this.#calls.set(call.id, { call, reading, entry: at.entry });
    if (reading.command !== undefined && reading.command !== "")
      this.all.push({ kind: "commands", words: reading.command, at, call: call.id, alsoIn: [], said: undefined });
  }

  #readResult(result: ToolResultBlock, at: MentionPlace): void {
    const open = this.#calls.get(result.tool_use_id);
    this.#calls.delete(result.tool_use_id);
    const text = resultText(result);
    const add = (kind: FactMention["kind"], words: string): void =>
      void this.all.push({ kind, words, at, call: result.tool_use_id, alsoIn: callEntries(open), said: undefined });
    const objection = findObjection(text);
    if (objection !== undefined) {
      if (objection !== "") add("decisions", objection);
      return;
    }
    const failed = result.is_error === true;
    const of = open === undefined || open.reading.command === undefined ? "content" : "command";
    for (const words of findErrorLines({ text, failed, of })) add("errors", words);
    if (failed || open === undefined) return;
    const { reading } = open;
    for (const path of reading.modifies) add("filesModified", path);
    for (const path of reading.reads) add("filesRead", path);
    if (reading.asksUser) for (const words of findAnswers(text)) add("decisions", words);
    if (reading.todos !== undefined) this.#changeTodos(reading.todos, { open, at, result: text });
  }

  #changeTodos(
    change: TodoChange,
    { open, at, result }: { readonly open: OpenCall; readonly at: MentionPlace; readonly result: string },
  ): void {
    const todo = (words: string): FactMention => ({
      kind: "openTodos",
      words,
      at,
      call: open.call.id,
      alsoIn: callEntries(open),
      said: words,
    });
    switch (change.kind) {
      case "list":
        this.#list = change.open.map(todo);
        break;
      case "created":
        this.#tasks.set(/#(\w+)/.exec(result)?.[1] ?? open.call.id, { isOpen: true, todo: todo(change.words) });
        break;
      case "updated": {
        const task = this.#tasks.get(change.task);
        if (task === undefined) return;
        const words = change.words === undefined ? task.todo.words : toFactLine(change.words);
        // The entry with the first mention of these words still brings them back.
        const updated = { ...todo(words), alsoIn: [...callEntries(open), ...task.todo.alsoIn, task.todo.at.entry] };
        this.#tasks.set(change.task, { isOpen: change.isOpen ?? task.isOpen, todo: updated });
        break;
      }
    }
    const tasks = [...this.#tasks.values()].flatMap((task) => (task.isOpen ? [task.todo] : []));
    this.todos.push({ at, open: [...this.#list, ...tasks] });
  }
}

interface Task {
  readonly isOpen: boolean;
  readonly todo: FactMention;
}

const callEntries = (open: OpenCall | undefined): readonly EntryId[] => (open === undefined ? [] : [open.entry]);

const resultText = ({ content = "" }: ToolResultBlock): string =>
  typeof content === "string" ? content : content.flatMap((part) => textField(part, "text") ?? []).join("\n");

interface CoveredRange {
  /** The index of the round whose request follows the compaction. */
  readonly compactedIn: number;
  /** Entries that the boundary keeps in the view unchanged, and so does not cover. */
  readonly kept: ReadonlySet<EntryId>;
}

/** The facts that a compaction covers, from the beginning of the session. Unique by kind and words, in the order of their first mention. */
export function collectFacts(mentions: FactMentions, { compactedIn, kept }: CoveredRange): readonly Fact[] {
  const covered = mentions.all.filter(({ at }) => isSaidBy(at, compactedIn) && !kept.has(at.entry));
  const lastFailure = covered.findLast(({ kind }) => kind === "errors")?.at.entry;
  const todos = openTodosBy(mentions, compactedIn).filter(({ at }) => !kept.has(at.entry));
  const facts = new Map<string, GrowingFact>();
  for (const mention of [...covered, ...todos]) {
    const kind = mention.kind === "errors" && mention.at.entry === lastFailure ? "lastErrors" : mention.kind;
    const key = factKey(kind, mention.words);
    const fact = facts.get(key) ?? newFact(kind, mention);
    facts.set(key, fact);
    addMention(fact, mention);
  }
  // An error that occurred again in the last failure does not count as an earlier error too.
  for (const { kind, words } of facts.values()) if (kind === "lastErrors") facts.delete(factKey("errors", words));
  return [...facts.values()];
}

interface GrowingFact extends Fact {
  round: number;
  readonly ids: Set<FactMention["at"]["entry"] | NonNullable<FactMention["call"]>>;
  readonly calls: Set<NonNullable<FactMention["call"]>>;
}

const factKey = (kind: FactKind, words: string): string => `${kind} ${words}`;

const newFact = (kind: FactKind, { words, at, said }: FactMention): GrowingFact => ({
  kind,
  words,
  round: at.round,
  ids: new Set(),
  calls: new Set(),
  said,
});

function addMention(fact: GrowingFact, { at, call, alsoIn }: FactMention): void {
  fact.round = Math.max(fact.round, at.round);
  for (const id of [at.entry, ...alsoIn]) fact.ids.add(id);
  if (call === undefined) return;
  fact.ids.add(call);
  fact.calls.add(call);
}
