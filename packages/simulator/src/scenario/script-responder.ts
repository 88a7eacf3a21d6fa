import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import {
  type Responder,
  type Move,
  type RespondInput,
  type PlannedReply,
  endOfScriptMove,
  type MoveBlock,
} from "../responder/responder.ts";
import { adversaryResponder } from "../responder/adversary-responder.ts";
import { RetryQueue } from "../responder/retry-queue.ts";
import { echoResponder, echoMove } from "../responder/echo-responder.ts";
import { extractResponder } from "../responder/extract-responder.ts";
import { FreshIds } from "../responder/replay-responder.ts";
import { compactionMove } from "../responder/summary-move.ts";
import type { Fault } from "../fault/fault.ts";
import { type Random, createRandom } from "../random.ts";
import { compileMove, type Lane, type LanePart, type Scenario, type Condition, type Step } from "./compile-scenario.ts";
import { collectFlaws, formatPath } from "./scenario-problem.ts";
import { moveForm, type MoveMaker } from "./scenario-form.ts";
import { type JsonObject, isArray, isObject, type Json } from "palimpsest/internal/schema/json";
import { stepsWithoutMoveMax } from "../limits.ts";
import { refusal } from "../refusal.ts";

/** Plays a scenario. Each lane keeps its own position, for as long as the actor lives. */
export function scriptResponder(scenario: Scenario): Responder {
  const { seed } = scenario;
  const lanes = scenario.lanes.map((lane) => ({ lane, actor: laneResponder(lane) }));
  const summaries = new Summaries(scenario.compaction);
  return {
    name: scenario.name,
    respond: (scene) => {
      const summary = scene.purpose === "compaction" ? summaries.next() : undefined;
      if (summary !== undefined) return summary;
      const found = lanes.find(({ lane }) => lane.meets(scene.request));
      if (found === undefined) throw new Error("a scenario's last lane takes every request");
      return found.actor.respond(seed === undefined ? scene : { ...scene, random: deriveRandom(scene, seed) });
    },
  };
}

/** A scenario's own summaries, in order; one that did not reach the client is given again. */
class Summaries {
  readonly #moves: readonly Move[];
  readonly #cue = new RetryQueue<Move | undefined>();
  #at = 0;

  constructor(moves: readonly Move[]) {
    this.#moves = moves;
  }

  /** Undefined once all are spent. */
  next(): PlannedReply | undefined {
    const { slot, ...ends } = this.#cue.issue(() => this.#moves[this.#at++]);
    return slot === undefined ? undefined : { move: slot, ...ends };
  }
}

/** By the seed and the request: choices do not depend on which requests came before. */
const deriveRandom = ({ random }: RespondInput, seed: number): Random =>
  createRandom(seed ^ Math.floor(random() * 2 ** 32));

function laneResponder({ name, part }: Lane): Responder {
  switch (part.kind) {
    case "steps":
      return withRuleSummaries(new Script(name, part));
    case "made":
      return withRuleSummaries({ name, respond: async (scene) => ({ move: await makeMove(part.make, scene) }) });
    case "actor":
      return presetResponder(part);
  }
}

/** Moves are replies: a compaction spends none of them. */
const withRuleSummaries = (actor: Responder): Responder => ({
  name: actor.name,
  respond: (scene) => (scene.purpose === "compaction" ? { move: compactionMove(scene.request) } : actor.respond(scene)),
});

function presetResponder({ actor, modes }: Extract<LanePart, { kind: "actor" }>): Responder {
  switch (actor) {
    case "echo":
      return echoResponder;
    case "extract":
      return extractResponder;
    case "adversary":
      return adversaryResponder(modes);
  }
}

async function makeMove(make: MoveMaker, scene: RespondInput): Promise<Move> {
  const read = moveForm.safeParse(await make(scene), { reportInput: true });
  const made = read.success
    ? compileMove(read.data)
    : { kind: "flawed" as const, flaws: collectFlaws(read.error.issues) };
  if (made.kind === "move") return made.move;
  const text = made.flaws.map(({ at, what }) => `${formatPath(at)} ${what}`.trim()).join("; ");
  throw new TypeError(`the scenario's function gave no move: ${text}`);
}

/**
 * Steps, played one after the other. A branch is decided by the request that reaches it; faults are spent when they
 * happen, moves unless they were lost. A refusal that went out is not lost: a retry gets what comes behind it.
 */
class Script implements Responder {
  readonly name: string;
  readonly #part: StepsPart;
  readonly #cue = new RetryQueue<ScriptLine>();
  readonly #ids = new FreshIds();
  /** Faults of moves that were delivered without them. */
  readonly #waiting: Fault[] = [];
  #slots: Slots;
  #asked: BranchContext | undefined;

  constructor(name: string, part: StepsPart) {
    this.name = name;
    this.#part = part;
    this.#slots = this.#fromTheStart();
  }

  respond({ request }: RespondInput): PlannedReply {
    this.#asked = { request, answers: new Map() };
    const { slot, delivered, lost } = this.#cue.issue(() => this.#dealt());
    const { move, faults } = slot;
    const [fault] = faults;
    let waits = fault !== undefined;
    return {
      move: move === "over" ? this.#over(request) : move,
      ...(fault === undefined ? {} : { fault }),
      faulted: () => {
        faults.shift();
        waits = false;
      },
      delivered: () => {
        if (waits) this.#waiting.push(...faults.splice(0));
        delivered();
      },
      lost,
    };
  }

  /** The next line, with what could not befall the one before it. */
  #dealt(): ScriptLine {
    const { move, faults } = this.#next();
    return { move, faults: [...this.#waiting.splice(0), ...faults] };
  }

  #next(): ScriptLine {
    const { value, done } = this.#slots.next();
    if (done !== true) return { move: this.#ids.refresh(value.move), faults: value.faults };
    // A generator that has ended gives its last faults only once.
    const faults = value ?? [];
    if (this.#part.after !== "repeat") return { move: "over", faults };
    this.#slots = this.#fromTheStart();
    const first = this.#slots.next();
    // A whole round of branches without a move: looking further would never end.
    if (first.done === true) return { move: "over", faults };
    return { move: this.#ids.refresh(first.value.move), faults: [...faults, ...first.value.faults] };
  }

  #fromTheStart(): Slots {
    return walkSlots(this.#part.steps, (condition) => this.#meets(condition));
  }

  /** A request answers a condition once, however often a repeated branch asks. */
  #meets(condition: Condition): boolean {
    if (this.#asked === undefined) throw new Error("a script looks for its next move only when a request wants one");
    const { request, answers } = this.#asked;
    const known = answers.get(condition);
    if (known !== undefined) return known;
    const answer = condition(request);
    answers.set(condition, answer);
    return answer;
  }

  /** Made for each request anew: the one that gets it may not be the one for which the script ended. */
  #over(request: MessagesRequest): Move {
    return this.#part.after === "echo" ? echoMove(request) : endOfScriptMove(`The scenario “${this.name}”`);
  }
}

/** A move that is under way, or none any more, and the faults that are still to befall it. */
interface ScriptLine {
  readonly move: Move | "over";
  readonly faults: Fault[];
}

type Slots = Generator<Slot, Fault[]>;

/** Whom branches ask while the next move is looked for. */
interface BranchContext {
  readonly request: MessagesRequest;
  readonly answers: Map<Condition, boolean>;
}

type StepsPart = Extract<LanePart, { kind: "steps" }>;

/** One reply of a script, and the faults that befall it, one a try. Its receiver may take faults out. */
interface Slot {
  readonly move: Move;
  readonly faults: Fault[];
}

/** Asked when a branch is reached: does the request that wants the next move meet it? */
type Meets = (condition: Condition) => boolean;

/**
 * The moves in order. Faults that stand alone go with the next move; those behind the last one are returned. Who asks
 * for a move and gets none in so many steps is refused; the next who asks goes on from there.
 */
function* walkSlots(steps: readonly Step[], meets: Meets): Generator<Slot, Fault[]> {
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

interface StepWalk {
  readonly steps: readonly Step[];
  readonly meets: Meets;
  readonly tally: Tally;
  /** The innermost repetition that these steps are in, counted from 1. */
  readonly number?: number | undefined;
}

/** Without a move: faults that stand alone. */
interface WalkedStep {
  readonly move?: Move;
  readonly faults: readonly Fault[];
}

function* walk({ steps, number, ...within }: StepWalk): Generator<WalkedStep> {
  for (const step of steps) {
    for (let time = 1; time <= (step.times ?? 1); time += 1) {
      within.tally.steps += 1;
      if (within.tally.steps > stepsWithoutMoveMax) yield { move: noMoveFound, faults: [] };
      yield* pass(step, { ...within, number: step.times === undefined ? number : time });
    }
  }
}

const noMoveFound: Move = {
  kind: "refuse",
  refusal: refusal("api_error", `the scenario has no move among its next ${stepsWithoutMoveMax} steps`),
};

function* pass(step: Step, within: Omit<StepWalk, "steps">): Generator<WalkedStep> {
  switch (step.kind) {
    case "move":
      yield {
        move: within.number === undefined ? step.move : insertNumber(step.move, within.number),
        faults: step.faults,
      };
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
function insertNumber(move: Move, number: number): Move {
  if (move.kind === "refuse") return move;
  const put = (text: string): string => text.replaceAll("<n>", String(number));
  return { ...move, blocks: move.blocks.map((block) => insertNumberInBlock(block, put)) };
}

function insertNumberInBlock(block: MoveBlock, put: (text: string) => string): MoveBlock {
  switch (block.type) {
    case "text":
      return { ...block, text: put(block.text) };
    case "thinking":
    case "redacted_thinking":
      return { ...block, thinking: put(block.thinking) };
    case "tool_use":
      return {
        ...block,
        input: insertNumberInObject(block.input, put),
        ...(block.id === undefined ? {} : { id: put(block.id) }),
        ...(block.rawInput === undefined ? {} : { rawInput: put(block.rawInput) }),
      };
  }
}

const insertNumberInObject = (object: JsonObject, put: (text: string) => string): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, insertNumberInJson(value, put)]));

function insertNumberInJson(value: Json, put: (text: string) => string): Json {
  if (typeof value === "string") return put(value);
  if (isArray(value)) return value.map((item) => insertNumberInJson(item, put));
  return isObject(value) ? insertNumberInObject(value, put) : value;
}
