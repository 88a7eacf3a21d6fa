import type { Block, ToolResultBlock, ToolUseBlock } from "palimpsest/internal/schema/block";
import type { EntryId, ToolUseId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { text } from "palimpsest/internal/schema/json";
import type { RecordedRound } from "../recording.ts";
import { type CallReading, readCall, type TodoStep } from "./call-reading.ts";
import { errorLinesIn } from "./error-lines.ts";
import { isSaidBy, type Place, type Sighting } from "./fact.ts";
import { personText } from "./person-text.ts";
import { answersIn, decisionsIn, detailsIn, objectionIn, oneLine } from "./user-words.ts";

/** What a recording says, in order. Read once, for whatever is compacted in it. */
export interface Sightings {
  readonly all: readonly Sighting[];
  /** What is to be done, each time that it changes. */
  readonly todos: readonly TodoList[];
}

export interface TodoList {
  readonly at: Place;
  readonly open: readonly Sighting[];
}

/** One pass, linear in the text. Shares no code with what summarises, audits or restores: a blind spot of theirs must show. */
export function sightingsOf(rounds: readonly RecordedRound[]): Sightings {
  const reader = new Reader();
  for (const [round, { before, reply }] of rounds.entries()) {
    for (const entry of before) reader.read(entry, { round, part: "before" });
    for (const entry of reply) reader.read(entry, { round, part: "reply" });
  }
  return reader;
}

/** What is to be done when a compaction takes place before the request of that round. */
export const openTodosBy = ({ todos }: Sightings, compactedIn: number): readonly Sighting[] =>
  todos.findLast(({ at }) => isSaidBy(at, compactedIn))?.open ?? [];

interface OpenCall {
  readonly call: ToolUseBlock;
  readonly reading: CallReading;
  readonly entry: EntryId;
}

class Reader implements Sightings {
  readonly all: Sighting[] = [];
  readonly todos: TodoList[] = [];
  readonly #calls = new Map<ToolUseId, OpenCall>();
  #list: readonly Sighting[] = [];
  readonly #tasks = new Map<string, Task>();

  read(entry: Entry, when: Pick<Place, "round" | "part">): void {
    const { id } = entry;
    if (id === undefined) return;
    const at = { ...when, entry: id };
    const said = personText(entry);
    if (said !== undefined) this.#heard(said, at);
    if (!("blocks" in entry)) return;
    for (const block of entry.blocks) this.#block(block, at);
  }

  #block(block: Block, at: Place): void {
    if (block.type === "tool_use") this.#called(block, at);
    if (block.type === "tool_result") this.#answered(block, at);
  }

  #heard(said: string, at: Place): void {
    const see = (kind: Sighting["kind"], words: string): void =>
      void this.all.push({ kind, words, at, call: undefined, alsoIn: [], said });
    see("userMessages", said);
    for (const words of detailsIn(said)) see("details", words);
    for (const words of decisionsIn(said)) see("decisions", words);
  }

  #called(call: ToolUseBlock, at: Place): void {
    const reading = readCall(call);
    this.#calls.set(call.id, { call, reading, entry: at.entry });
    if (reading.command !== undefined && reading.command !== "")
      this.all.push({ kind: "commands", words: reading.command, at, call: call.id, alsoIn: [], said: undefined });
  }

  #answered(result: ToolResultBlock, at: Place): void {
    const open = this.#calls.get(result.tool_use_id);
    this.#calls.delete(result.tool_use_id);
    const shown = wordsOf(result);
    const see = (kind: Sighting["kind"], words: string): void =>
      void this.all.push({ kind, words, at, call: result.tool_use_id, alsoIn: entriesOf(open), said: undefined });
    const objection = objectionIn(shown);
    if (objection !== undefined) {
      if (objection !== "") see("decisions", objection);
      return;
    }
    const failed = result.is_error === true;
    const of = open === undefined || open.reading.command === undefined ? "content" : "command";
    for (const words of errorLinesIn({ text: shown, failed, of })) see("errors", words);
    if (failed || open === undefined) return;
    const { reading } = open;
    for (const path of reading.modifies) see("filesModified", path);
    for (const path of reading.reads) see("filesRead", path);
    if (reading.asks) for (const words of answersIn(shown)) see("decisions", words);
    if (reading.todos !== undefined) this.#planned(reading.todos, { open, at, result: shown });
  }

  #planned(step: TodoStep, { open, at, result }: Planned): void {
    const todo = (words: string): Sighting => ({
      kind: "openTodos",
      words,
      at,
      call: open.call.id,
      alsoIn: entriesOf(open),
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
        const words = step.words === undefined ? known.todo.words : oneLine(step.words);
        // The place where its words were said first still brings them back.
        const again = { ...todo(words), alsoIn: [...entriesOf(open), ...known.todo.alsoIn, known.todo.at.entry] };
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
  readonly todo: Sighting;
}

interface Planned {
  readonly open: OpenCall;
  readonly at: Place;
  readonly result: string;
}

const entriesOf = (open: OpenCall | undefined): readonly EntryId[] => (open === undefined ? [] : [open.entry]);

const wordsOf = ({ content = "" }: ToolResultBlock): string =>
  typeof content === "string" ? content : content.flatMap((part) => text(part, "text") ?? []).join("\n");
