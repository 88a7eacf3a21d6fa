import type { ToolUseBlock } from "../../../schema/block.ts";
import type { EntryId } from "../../../schema/brand.ts";
import { field, isArray, isObject, type Json, type JsonObject, textField } from "../../../schema/json.ts";
import { clipText } from "../../clip-text.ts";
import { statusCharsMax, todoCharsMax, todosMax } from "../limits.ts";

export interface TodoFact {
  readonly text: string;
  readonly status: string;
  /** Entry of the call that set this state. */
  readonly entry: EntryId;
  /** Id of the task, if it has one. */
  readonly task?: string;
}

/** A call that succeeded, with the text of its result. */
interface AnsweredCall {
  readonly call: Pick<ToolUseBlock, "id" | "name" | "input">;
  readonly entry: EntryId;
  readonly result: string;
}

/**
 * The open todos, from the tools of known agents. Some give the whole list each time (`todo`, `TodoWrite`, `todowrite`,
 * `update_plan`), some one task after the other (`TaskCreate`, `TaskUpdate`).
 */
export class TodoBook {
  #list: readonly TodoFact[];
  /** Includes done tasks: they can be reopened. */
  readonly #taskById: Map<string, TodoFact>;

  /** `tasks` are all known ones; the open ones if absent. */
  constructor(open: readonly TodoFact[] = [], tasks: readonly TodoFact[] = open) {
    this.#list = open.filter(({ task }) => task === undefined);
    this.#taskById = new Map(tasks.flatMap((todo) => (todo.task === undefined ? [] : [[todo.task, todo]])));
  }

  get tasks(): readonly TodoFact[] {
    return [...this.#taskById.values()];
  }

  get open(): readonly TodoFact[] {
    return [...this.#list, ...this.#taskById.values()].filter(({ status }) => !isDone(status));
  }

  note({ call, entry, result }: AnsweredCall): void {
    const name = call.name.toLowerCase().replaceAll(/[^a-z]/g, "");
    const list = field(call.input, "todos") ?? field(call.input, "plan");
    if (/todo|plan/.test(name) && isArray(list)) this.#list = openIn(list, entry).slice(0, todosMax);
    else if (name.endsWith("taskcreate")) this.#create({ call, entry, result });
    else if (name.endsWith("taskupdate")) this.#update(call.input, entry);
  }

  #create({ call, entry, result }: AnsweredCall): void {
    const todo = parseTodo(call.input, entry);
    if (todo === undefined) return;
    const task = /#(\w+)/.exec(result)?.[1] ?? call.id;
    this.#taskById.set(task, { ...todo, task });
    if (this.#taskById.size > todosMax) this.#forget();
  }

  /** Forgets the oldest task that is done, else the oldest. */
  #forget(): void {
    const [oldest] = this.#taskById.keys();
    const done = [...this.#taskById].find(([, { status }]) => isDone(status))?.[0];
    this.#taskById.delete(done ?? oldest ?? "");
  }

  #update(input: JsonObject, entry: EntryId): void {
    const task = textField(input, "taskId") ?? "";
    const known = this.#taskById.get(task);
    if (known === undefined) return;
    const status = textField(input, "status") ?? known.status;
    this.#taskById.set(task, {
      text: clipText(textField(input, "subject") ?? known.text, todoCharsMax),
      status: clipText(status, statusCharsMax),
      entry,
      task,
    });
  }
}

const openIn = (list: readonly Json[], entry: EntryId): readonly TodoFact[] =>
  list
    .flatMap((item) => (isObject(item) ? (parseTodo(item, entry) ?? []) : []))
    .filter(({ status }) => !isDone(status));

function parseTodo(item: JsonObject, entry: EntryId): TodoFact | undefined {
  const text = findTodoText(item);
  const status = textField(item, "status") ?? "pending";
  return text === undefined ? undefined : { text, status: clipText(status, statusCharsMax), entry };
}

const textKeys = ["content", "subject", "step", "text", "title", "description"] as const;

function findTodoText(item: JsonObject): string | undefined {
  const text = textKeys.map((key) => textField(item, key)?.trim()).find((value) => value !== undefined && value !== "");
  return text === undefined ? undefined : clipText(text, todoCharsMax);
}

const isDone = (status: string): boolean => /^(?:complete|done|cancel|delete|skip)/i.test(status);
