import { z } from "zod";
import type { Tool } from "palimpsest/internal/ports/tools";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { defineTool } from "./define.ts";
import { todoCharsMax, todosMax } from "./limits.ts";

const todo = z.strictObject({
  content: z.string().min(1).max(todoCharsMax).describe("What is to be done."),
  status: z.enum(["pending", "in_progress", "completed"]).describe("How far it is."),
  activeForm: z.string().max(todoCharsMax).optional().describe("How it reads while it is being done."),
});

const input = z.strictObject({ todos: z.array(todo).max(todosMax).describe("All steps, in order.") });

export type Todo = Readonly<z.infer<typeof todo>>;

/** The list that a call gave; undefined where it is in another form. */
export function readTodos(given: JsonObject): readonly Todo[] | undefined {
  const read = z.object({ todos: z.array(todo.catchall(z.unknown())) }).safeParse(given);
  return read.success
    ? read.data.todos.map(({ content, status, activeForm }) => ({
        content,
        status,
        ...(activeForm === undefined ? {} : { activeForm }),
      }))
    : undefined;
}

/** A session's own, and a copy for each fork. */
export interface Todos {
  list: readonly Todo[];
}

export interface TodoDeps {
  readonly todos: Todos;
}

export const todoTool = ({ todos }: TodoDeps): Tool =>
  defineTool({
    name: "todo",
    description:
      "Keep a list of the steps of a longer task. Give the whole list each time; have one step in progress, and mark each as completed when it is done.",
    input,
    effect: "write",
    plan: async ({ todos: list }) => ({
      kind: "ready",
      acts: [{ kind: "state", what: "todo" }],
      run: async () => {
        todos.list = list;
        const words = wordsOf(list);
        return { content: words, summary: words };
      },
    }),
  });

function wordsOf(list: readonly Todo[]): string {
  const count = (status: Todo["status"]): number => list.filter((one) => one.status === status).length;
  const active = count("in_progress");
  const advice = active > 1 ? " Better have one step in progress at a time." : "";
  return `List kept: ${count("completed")} of ${list.length} done, ${active} in progress.${advice}`;
}
