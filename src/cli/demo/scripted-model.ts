import { summaryPrompt } from "../../layers/4-compact/prompt.ts";
import { sectionsOf } from "../../layers/4-compact/sections.ts";
import { field, isArray, isObject, type Json, type JsonObject, text } from "../../schema/json.ts";
import type { MessagesRequest } from "../../schema/wire/request.ts";
import type { Actor, SaidBlock, Take } from "../../simulator/actor/actor.ts";
import { blocksOf, lastUserText } from "../../simulator/actor/request-text.ts";
import { gaugePath } from "./project.ts";
import { call, type Step, type Task } from "./script.ts";

/** A model with a script; the simulator around it counts, caches and charges like the real one. */
export interface ScriptedModel {
  readonly actor: Actor;
  /** What it works on from now on. */
  take(task: Task): void;
}

export function scriptedModel(): ScriptedModel {
  let steps: readonly Step[] = [];
  let at = 0;
  const done = new Done();
  const play = (request: MessagesRequest): Take => {
    if (asksForSummary(request)) return said([{ type: "text", text: summaryOf(done) }]);
    const before = steps[at - 1];
    if (before?.kind === "edit" && isRefused(request))
      return { ...said([call("read", { file_path: gaugePath(before.gauge) })]), delivered: () => void (at -= 1) };
    const blocks = blocksFor(steps[at], request);
    // A step is spent when its reply has arrived: who asks again hears the same.
    const delivered = (): void => {
      at += 1;
      done.note(blocks);
    };
    return { ...said(blocks), delivered };
  };
  return {
    actor: { name: "demo", play: ({ request }) => play(request) },
    take: (task) => {
      steps = task.steps;
      at = 0;
    },
  };
}

const said = (blocks: readonly SaidBlock[]): Take => ({ move: { kind: "say", blocks } });

function blocksFor(step: Step | undefined, request: MessagesRequest): readonly SaidBlock[] {
  if (step === undefined) return [{ type: "text", text: "Done." }];
  if (step.kind !== "report") return step.blocks;
  const shown = JSON.stringify(request.messages);
  const known = step.words.map((word) => (shown.includes(word) ? `“${word}”` : "one that I do not know any more"));
  return [{ type: "text", text: `They are ${known.join(" and ")}.` }];
}

/** Whether the newest results say that a call failed. */
function isRefused({ messages }: MessagesRequest): boolean {
  const last = messages.at(-1);
  return last !== undefined && blocksOf(last).some((block) => block.type === "tool_result" && block.is_error === true);
}

const [opening = ""] = summaryPrompt({ variant: "all", previousSummary: "none" }).split("\n", 1);

const asksForSummary = (request: MessagesRequest): boolean => lastUserText(request).startsWith(opening);

/** What it has called its tools for so far. */
class Done {
  readonly #changed = new Set<string>();
  #todos: readonly string[] = [];

  get changed(): readonly string[] {
    return [...this.#changed];
  }

  get openTodos(): readonly string[] {
    return this.#todos;
  }

  note(blocks: readonly SaidBlock[]): void {
    for (const block of blocks) {
      if (block.type !== "tool_use") continue;
      const path = block.name === "edit" || block.name === "write" ? text(block.input, "file_path") : undefined;
      if (path !== undefined) this.#changed.add(path);
      if (block.name === "todo") this.#todos = openIn(block.input);
    }
  }
}

const openIn = (input: JsonObject): readonly string[] =>
  todosIn(field(input, "todos")).flatMap((todo) =>
    isObject(todo) && text(todo, "status") !== "completed" ? [text(todo, "content") ?? ""] : [],
  );

const todosIn = (todos: Json | undefined): readonly Json[] => (isArray(todos) ? todos : []);

/** In the form that was asked for and true, but for the last error: the audit finds out. */
function summaryOf({ changed, openTodos }: Done): string {
  const bodyByTitle: Readonly<Record<string, string>> = {
    "Primary Request and Intent": "The gauges of the project fail their checks and are repaired one after another.",
    "Key Technical Concepts": "Each gauge is a module with an offset and readings; check.mjs looks at one of them.",
    "Files and Code Sections": listed(changed.map((path) => `${path}: changed`)),
    "Problem Solving": "The offset is one too high each time. The readings are right.",
    "Pending Tasks": listed(openTodos),
    "Current Work": "A gauge was being repaired: read the module, change the offset, check it again.",
  };
  return [
    "<analysis>The same three steps for each gauge.</analysis>",
    "<summary>",
    ...sectionsOf("all").map(({ title }, at) => `${at + 1}. ${title}:\n${bodyByTitle[title] ?? "Nothing of note."}\n`),
    "</summary>",
  ].join("\n");
}

const listed = (lines: readonly string[]): string =>
  lines.length === 0 ? "None." : lines.map((line) => `- ${line}`).join("\n");
