import type { JsonObject } from "palimpsest/internal/schema/json";
import { isArray, isObject, type Json } from "palimpsest/internal/schema/json";
import type { Move, SaidBlock } from "../actor/actor.ts";
import type { Fault } from "../fault.ts";
import { stepsWithoutMoveMax } from "../limits.ts";
import { refusal } from "../refusal.ts";
import type { Step } from "./compile.ts";
import type { Condition } from "./condition.ts";

/** One reply of a script, and the faults that befall it, one a try. Its receiver may take faults out. */
export interface Slot {
  readonly move: Move;
  readonly faults: Fault[];
}

/** Asked when a branch is reached: does the request that wants the next move meet it? */
export type Meets = (condition: Condition) => boolean;

/**
 * The moves in order. Faults that stand alone go with the next move; those behind the last one are returned. Who asks
 * for a move and gets none in so many steps is refused; the next who asks goes on from there.
 */
export function* slotsOf(steps: readonly Step[], meets: Meets): Generator<Slot, Fault[]> {
  const tally: Tally = { steps: 0 };
  let faults: Fault[] = [];
  for (const one of walk({ steps, meets, tally })) {
    for (const fault of one.faults) faults.push(fault);
    if (one.move === undefined) continue;
    tally.steps = 0;
    yield { move: one.move, faults };
    faults = [];
  }
  return faults;
}

/** Steps since the last move. */
interface Tally {
  steps: number;
}

interface Walk {
  readonly steps: readonly Step[];
  readonly meets: Meets;
  readonly tally: Tally;
  /** The innermost repetition that these steps are in, counted from 1. */
  readonly number?: number | undefined;
}

/** Without a move: faults that stand alone. */
interface Passed {
  readonly move?: Move;
  readonly faults: readonly Fault[];
}

function* walk({ steps, number, ...within }: Walk): Generator<Passed> {
  for (const step of steps) {
    for (let time = 1; time <= (step.times ?? 1); time += 1) {
      within.tally.steps += 1;
      if (within.tally.steps > stepsWithoutMoveMax) yield { move: astray, faults: [] };
      yield* pass(step, { ...within, number: step.times === undefined ? number : time });
    }
  }
}

const astray: Move = {
  kind: "refuse",
  refusal: refusal("api_error", `the scenario has no move among its next ${stepsWithoutMoveMax} steps`),
};

function* pass(step: Step, within: Omit<Walk, "steps">): Generator<Passed> {
  switch (step.kind) {
    case "move":
      yield { move: within.number === undefined ? step.move : numbered(step.move, within.number), faults: step.faults };
      return;
    case "fault":
      yield { faults: step.faults };
      return;
    case "group":
      yield* walk({ ...within, steps: step.steps });
      return;
    case "branch":
      yield* walk({ ...within, steps: within.meets(step.meets) ? step.met : step.unmet });
  }
}

/** `<n>` in a repeated move is the number of the repetition. */
function numbered(move: Move, number: number): Move {
  if (move.kind === "refuse") return move;
  const put = (text: string): string => text.replaceAll("<n>", String(number));
  return { ...move, blocks: move.blocks.map((block) => numberedBlock(block, put)) };
}

function numberedBlock(block: SaidBlock, put: (text: string) => string): SaidBlock {
  switch (block.type) {
    case "text":
      return { ...block, text: put(block.text) };
    case "thinking":
    case "redacted_thinking":
      return { ...block, thinking: put(block.thinking) };
    case "tool_use":
      return {
        ...block,
        input: numberedObject(block.input, put),
        ...(block.id === undefined ? {} : { id: put(block.id) }),
        ...(block.rawInput === undefined ? {} : { rawInput: put(block.rawInput) }),
      };
  }
}

const numberedObject = (object: JsonObject, put: (text: string) => string): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, numberedJson(value, put)]));

function numberedJson(value: Json, put: (text: string) => string): Json {
  if (typeof value === "string") return put(value);
  if (isArray(value)) return value.map((item) => numberedJson(item, put));
  return isObject(value) ? numberedObject(value, put) : value;
}
