import { summaryPrompt } from "palimpsest/internal/layers/4-compact/prompt";
import { text } from "palimpsest/internal/schema/json";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/request";
import type { Actor, SaidBlock, Take } from "@palimpsest/simulator/internal/actor/actor";
import { lastUserText } from "@palimpsest/simulator/internal/actor/request-text";
import { invalid } from "@palimpsest/simulator/internal/refusal";
import { readTodos } from "../tool/todo.ts";
import { seenIn } from "./seen.ts";
import { act, type Played, read, type Step, type Task } from "./step.ts";
import { summaryOf } from "./summary-text.ts";

/** A model with a script; the simulator around it counts, caches and charges like the real one. */
export interface ScriptedModel {
  readonly actor: Actor;
  /** What it works on from now on. */
  take(task: Task): void;
  /** The next request is refused as too long, as by a provider that has less room than it said. */
  refuseNext(): void;
}

/** More looks for one step are a loop: what it looks for is not there. */
const looksMax = 3;

export function scriptedModel(): ScriptedModel {
  let steps: readonly Step[] = [];
  let before: Step | undefined;
  let looks = 0;
  let refuses = 0;
  const changed = new Set<string>();
  let openTodos: readonly string[] = [];
  const play = (request: MessagesRequest): Take => {
    if (asksForSummary(request)) return said([{ type: "text", text: summaryOf({ changed: [...changed], openTodos }) }]);
    if (refuses > 0) {
      refuses -= 1;
      return { move: { kind: "refuse", refusal: invalid("prompt is too long") } };
    }
    if (looks > looksMax) throw new Error("the demo's model looks for something that is not there");
    const seen = seenIn(request);
    const [step = doneStep] = steps;
    const refused = before === undefined ? undefined : seen.refusedEdit;
    const played = refused === undefined ? step(seen) : readFirst(refused);
    // A step is spent when its reply has arrived: who asks again hears the same.
    const delivered = (): void => {
      for (const path of pathsChanged(played.blocks)) changed.add(path);
      openTodos = openIn(played.blocks) ?? openTodos;
      looks = played.step === "waits" ? looks + 1 : 0;
      if (refused !== undefined && before !== undefined) steps = [before, ...steps];
      else if (played.step === "spent") steps = [...(played.follows ?? []), ...steps.slice(1)];
      before = refused === undefined && played.step === "spent" ? step : undefined;
    };
    return { ...said(played.blocks), delivered };
  };
  return {
    actor: { name: "demo", play: ({ request }) => play(request) },
    take: (task) => {
      steps = task.steps;
      before = undefined;
    },
    refuseNext: () => void (refuses += 1),
  };
}

/** An edit is refused where the file was not read since the last compaction: then the step of that edit comes again. */
const readFirst = (path: string): Played => ({ ...act("It wants to be read again first.", read(path)), step: "waits" });

const doneStep: Step = () => act("Done.");

const said = (blocks: readonly SaidBlock[]): Take => ({ move: { kind: "say", blocks } });

const [opening = ""] = summaryPrompt({ variant: "all", previousSummary: "none" }).split("\n", 1);

const asksForSummary = (request: MessagesRequest): boolean => lastUserText(request).startsWith(opening);

const pathsChanged = (blocks: readonly SaidBlock[]): readonly string[] =>
  blocks.flatMap((block) => {
    const isChange = block.type === "tool_use" && (block.name === "edit" || block.name === "write");
    const path = isChange ? text(block.input, "file_path") : undefined;
    return path === undefined ? [] : [path];
  });

/** Undefined where no list was given. */
const openIn = (blocks: readonly SaidBlock[]): readonly string[] | undefined =>
  blocks
    .flatMap((block) => (block.type === "tool_use" && block.name === "todo" ? [readTodos(block.input) ?? []] : []))
    .at(-1)
    ?.filter(({ status }) => status !== "completed")
    .map(({ content }) => content);
