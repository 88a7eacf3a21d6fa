import { z } from "zod";
import type { Tool } from "palimpsest/internal/ports/tool";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { defineTool } from "./define-tool.ts";
import { todoCharsMax, todosMax } from "./limits.ts";
import { usualStability, type WorkingStatePart } from "palimpsest/internal/ports/working-state";

const todoShape = z.strictObject({
  content: z.string().min(1).max(todoCharsMax),
  status: z.enum(["pending", "in_progress", "completed"]),
  activeForm: z.string().max(todoCharsMax).optional().describe("How it reads while it is being done."),
});

const input = z.strictObject({ todos: z.array(todoShape).max(todosMax) });

export type Todo = Readonly<z.infer<typeof todoShape>>;

/** The list of a call's input; undefined if it has another form. */
export function readTodos(callInput: JsonObject): readonly Todo[] | undefined {
  const read = z.object({ todos: z.array(todoShape.catchall(z.unknown())) }).safeParse(callInput);
  return read.success
    ? read.data.todos.map(({ content, status, activeForm }) => ({
        content,
        status,
        ...(activeForm === undefined ? {} : { activeForm }),
      }))
    : undefined;
}

/** One per session; a fork gets a copy. */
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
        const summary = summarizeTodos(list);
        return { content: summary, summary };
      },
    }),
  });

function summarizeTodos(list: readonly Todo[]): string {
  const count = (status: Todo["status"]): number => list.filter((one) => one.status === status).length;
  const active = count("in_progress");
  const advice = active > 1 ? " Better have one step in progress at a time." : "";
  return `List kept: ${count("completed")} of ${list.length} done, ${active} in progress.${advice}`;
}

/** The current task list, including changes of this round. Absent if it is empty or completed. */
export const todosPart = ({ todos }: TodoDeps): WorkingStatePart => ({
  name: "todos",
  stability: usualStability.todos,
  snapshot: async ({ budgets }) => {
    const { list } = todos;
    if (!hasOpenTodos(list)) return undefined;
    const piece = {
      title: "task list",
      intro: "The task list as it stands now:",
      text: renderTodos(list),
      data: { todos: list.map((one) => todoData(one)) },
    };
    return { kind: "state", pieces: [piece], budget: budgets.other };
  },
});

export const hasOpenTodos = (list: readonly Todo[]): boolean => list.some(({ status }) => status !== "completed");

/** One line per step, for the model. */
export const renderTodos = (list: readonly Todo[]): string => list.map((one, at) => renderTodo(one, at + 1)).join("\n");

const renderTodo = ({ content, status }: Todo, number: number): string =>
  `${number}. [${labelByStatus[status]}] ${content.replaceAll(/\s*[\r\n]+\s*/g, " ")}`;

const todoData = ({ content, status, activeForm }: Todo): JsonObject => ({
  content,
  status,
  ...(activeForm === undefined ? {} : { activeForm }),
});

const labelByStatus: { readonly [Status in Todo["status"]]: string } = {
  pending: "to do",
  in_progress: "in progress",
  completed: "done",
};
