import { stabilityOf, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { Todo, TodoDeps } from "../todo.ts";

/** The task list as it is, also as a call of this very round left it. One that is empty or done is nothing to go on with. */
export const todosPart = ({ todos }: TodoDeps): WorkingStatePart => ({
  name: "todos",
  stability: stabilityOf.todos,
  snapshot: async ({ budgets }) => {
    const { list } = todos;
    if (!hasOpenTodos(list)) return undefined;
    const piece = {
      title: "task list",
      intro: "The task list as it stands now:",
      text: todoLines(list),
      data: { todos: list.map((one) => dataOf(one)) },
    };
    return { kind: "state", pieces: [piece], budget: budgets.other };
  },
});

export const hasOpenTodos = (list: readonly Todo[]): boolean => list.some(({ status }) => status !== "completed");

/** A line for each step, for the model. */
export const todoLines = (list: readonly Todo[]): string => list.map((one, at) => lineOf(one, at + 1)).join("\n");

const lineOf = ({ content, status }: Todo, number: number): string =>
  `${number}. [${wordsOf[status]}] ${content.replaceAll(/\s*[\r\n]+\s*/g, " ")}`;

const dataOf = ({ content, status, activeForm }: Todo): JsonObject => ({
  content,
  status,
  ...(activeForm === undefined ? {} : { activeForm }),
});

const wordsOf: { readonly [Status in Todo["status"]]: string } = {
  pending: "to do",
  in_progress: "in progress",
  completed: "done",
};
