import type { Block, ToolResultBlock, ToolUseBlock } from "palimpsest/internal/schema/block";
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

/** What a recording says, in order. Read once, for whatever is compacted in it. */
export interface FactMentions {
  readonly all: readonly FactMention[];
  /** What is to be done, each time that it changes. */
  readonly todos: readonly TodoList[];
}

interface TodoList {
  readonly at: MentionPlace;
  readonly open: readonly FactMention[];
}

/** One pass, linear in the text. Shares no code with what summarises, audits or restores: a blind spot of theirs must show. */
export function findMentions(rounds: readonly RecordedRound[]): FactMentions {
  const reader = new MentionReader();
  for (const [round, { before, reply }] of rounds.entries()) {
    for (const entry of before) reader.read(entry, { round, part: "before" });
    for (const entry of reply) reader.read(entry, { round, part: "reply" });
  }
  return reader;
}

/** What is to be done when a compaction takes place before the request of that round. */
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

  read(entry: Entry, when: Pick<MentionPlace, "round" | "part">): void {
    const { id } = entry;
    if (id === undefined) return;
    const at = { ...when, entry: id };
    const said = userText(entry);
    if (said !== undefined) this.#heard(said, at);
    if (!("blocks" in entry)) return;
    for (const block of entry.blocks) this.#block(block, at);
  }

  #block(block: Block, at: MentionPlace): void {
    if (block.type === "tool_use") this.#called(block, at);
    if (block.type === "tool_result") this.#answered(block, at);
  }

  #heard(said: string, at: MentionPlace): void {
    const see = (kind: FactMention["kind"], words: string): void =>
      void this.all.push({ kind, words, at, call: undefined, alsoIn: [], said });
    see("userMessages", said);
    for (const words of findDetails(said)) see("details", words);
    for (const words of findDecisions(said)) see("decisions", words);
  }

  #called(call: ToolUseBlock, at: MentionPlace): void {
    const reading = readCall(call);
    this.#calls.set(call.id, { call, reading, entry: at.entry });
    if (reading.command !== undefined && reading.command !== "")
      this.all.push({ kind: "commands", words: reading.command, at, call: call.id, alsoIn: [], said: undefined });
  }

  #answered(result: ToolResultBlock, at: MentionPlace): void {
    const open = this.#calls.get(result.tool_use_id);
    this.#calls.delete(result.tool_use_id);
    const shown = resultText(result);
    const see = (kind: FactMention["kind"], words: string): void =>
      void this.all.push({ kind, words, at, call: result.tool_use_id, alsoIn: callEntries(open), said: undefined });
    const objection = findObjection(shown);
    if (objection !== undefined) {
      if (objection !== "") see("decisions", objection);
      return;
    }
    const failed = result.is_error === true;
    const of = open === undefined || open.reading.command === undefined ? "content" : "command";
    for (const words of findErrorLines({ text: shown, failed, of })) see("errors", words);
    if (failed || open === undefined) return;
    const { reading } = open;
    for (const path of reading.modifies) see("filesModified", path);
    for (const path of reading.reads) see("filesRead", path);
    if (reading.asks) for (const words of findAnswers(shown)) see("decisions", words);
    if (reading.todos !== undefined) this.#planned(reading.todos, { open, at, result: shown });
  }

  #planned(
    step: TodoChange,
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
    switch (step.kind) {
      case "list":
        this.#list = step.open.map(todo);
        break;
      case "created":
        this.#tasks.set(/#(\w+)/.exec(result)?.[1] ?? open.call.id, { isOpen: true, todo: todo(step.words) });
        break;
      case "updated": {
        const known = this.#tasks.get(step.task);
        if (known === undefined) return;
        const words = step.words === undefined ? known.todo.words : toFactLine(step.words);
        // The place where its words were said first still brings them back.
        const again = { ...todo(words), alsoIn: [...callEntries(open), ...known.todo.alsoIn, known.todo.at.entry] };
        this.#tasks.set(step.task, { isOpen: step.isOpen ?? known.isOpen, todo: again });
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
  /** Index of the round before whose request it was compacted. */
  readonly compactedIn: number;
  /** What the boundary leaves in the view as it is: no part of what it covers. */
  readonly kept: ReadonlySet<EntryId>;
}

/** The facts of what a compaction covers, from the beginning of the session on. Each once by its kind and words, in the order in which they were seen first. */
export function collectFacts(sightings: FactMentions, { compactedIn, kept }: CoveredRange): readonly Fact[] {
  const covered = sightings.all.filter(({ at }) => isSaidBy(at, compactedIn) && !kept.has(at.entry));
  const lastFailure = covered.findLast(({ kind }) => kind === "errors")?.at.entry;
  const todos = openTodosBy(sightings, compactedIn).filter(({ at }) => !kept.has(at.entry));
  const facts = new Map<string, GrowingFact>();
  for (const sighting of [...covered, ...todos]) {
    const kind = sighting.kind === "errors" && sighting.at.entry === lastFailure ? "lastErrors" : sighting.kind;
    const key = factKey(kind, sighting.words);
    const fact = facts.get(key) ?? newFact(kind, sighting);
    facts.set(key, fact);
    addMention(fact, sighting);
  }
  // An error that is still the last one is not one of the past as well.
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
