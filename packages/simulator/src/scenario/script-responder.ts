import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import {
  type Responder,
  type Move,
  type RespondInput,
  type PlannedReply,
  endOfScriptMove,
  type MoveBlock,
  RetryQueue,
} from "../responder/responder.ts";
import { adversaryResponder } from "../responder/adversary-responder.ts";
import { echoResponder, echoMove } from "../responder/echo-responder.ts";
import { extractResponder } from "../responder/extract-responder.ts";
import { FreshIds } from "../responder/replay-responder.ts";
import { compactionMove } from "../responder/summary-move.ts";
import type { Fault } from "../fault/fault.ts";
import { type Random, createRandom } from "../random.ts";
import { compileMove, type Lane, type LanePart, type Scenario, type Condition, type Step } from "./compile-scenario.ts";
import { collectFlaws, formatPath, moveForm, type MoveMaker } from "./scenario-form.ts";
import { type JsonObject, isArray, isObject, type Json } from "palimpsest/internal/schema/json";
import { stepsWithoutMoveMax } from "../limits.ts";
import { refusal } from "../refusal.ts";

/** Answers by a scenario. Each lane keeps its own position for as long as the responder lives. */
export function scriptResponder(scenario: Scenario): Responder {
  const { seed } = scenario;
  const lanes = scenario.lanes.map((lane) => ({ lane, responder: laneResponder(lane) }));
  const summaries = new Summaries(scenario.compaction);
  return {
    name: scenario.name,
    respond: (input) => {
      const summary = input.purpose === "compaction" ? summaries.next() : undefined;
      if (summary !== undefined) return summary;
      const found = lanes.find(({ lane }) => lane.meets(input.request));
      if (found === undefined) throw new Error("a scenario's last lane takes every request");
      return found.responder.respond(seed === undefined ? input : { ...input, random: deriveRandom(input, seed) });
    },
  };
}

/** A scenario's own summaries, in order; one that did not reach the client is given again. */
class Summaries {
  readonly #moves: readonly Move[];
  readonly #queue = new RetryQueue<Move | undefined>();
  #at = 0;

  constructor(moves: readonly Move[]) {
    this.#moves = moves;
  }

  /** Undefined once all are spent. */
  next(): PlannedReply | undefined {
    const { slot, ...ends } = this.#queue.issue(() => this.#moves[this.#at++]);
    return slot === undefined ? undefined : { move: slot, ...ends };
  }
}

/** Depends on the seed and the request, not on which requests came before. */
const deriveRandom = ({ random }: RespondInput, seed: number): Random =>
  createRandom(seed ^ Math.floor(random() * 2 ** 32));

function laneResponder({ name, part }: Lane): Responder {
  switch (part.kind) {
    case "steps":
      return withRuleSummaries(new Script(name, part));
    case "computed":
      return withRuleSummaries({ name, respond: async (input) => ({ move: await makeMove(part.make, input) }) });
    case "responder":
      return presetResponder(part);
  }
}

/** Moves are replies: a compaction does not use one up. */
const withRuleSummaries = (responder: Responder): Responder => ({
  name: responder.name,
  respond: (input) =>
    input.purpose === "compaction" ? { move: compactionMove(input.request) } : responder.respond(input),
});

function presetResponder({ responder, modes }: Extract<LanePart, { kind: "responder" }>): Responder {
  switch (responder) {
    case "echo":
      return echoResponder;
    case "extract":
      return extractResponder;
    case "adversary":
      return adversaryResponder(modes);
  }
}

async function makeMove(make: MoveMaker, input: RespondInput): Promise<Move> {
  const read = moveForm.safeParse(await make(input), { reportInput: true });
  const compiled = read.success
    ? compileMove(read.data)
    : { kind: "flawed" as const, flaws: collectFlaws(read.error.issues) };
  if (compiled.kind === "move") return compiled.move;
  const text = compiled.flaws.map(({ at, what }) => `${formatPath(at)} ${what}`.trim()).join("; ");
  throw new TypeError(`the scenario's function returned no move: ${text}`);
}

/**
 * Runs steps one after the other. A branch is decided by the request that reaches it; faults are spent when they
 * strike, moves unless they were lost. A refusal that was sent is not lost: a retry gets the next move.
 */
class Script implements Responder {
  readonly name: string;
  readonly #part: StepsPart;
  readonly #queue = new RetryQueue<ScriptLine>();
  readonly #ids = new FreshIds();
  /** Faults of moves that were delivered without them. */
  readonly #waiting: Fault[] = [];
  #slots: Slots;
  #branchContext: BranchContext | undefined;

  constructor(name: string, part: StepsPart) {
    this.name = name;
    this.#part = part;
    this.#slots = this.#startSlots();
  }

  respond({ request }: RespondInput): PlannedReply {
    this.#branchContext = { request, answers: new Map() };
    // Faults that were still to strike a move that arrived after all wait for the next one.
    for (const { faults } of this.#queue.settle(request)) this.#waiting.push(...faults);
    const { slot, called, delivered, lost } = this.#queue.issue(() => this.#issueLine());
    const { move, faults } = slot;
    const [fault] = faults;
    let waits = fault !== undefined;
    return {
      move: move === "over" ? this.#endMove(request) : move,
      called,
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

  /** The next line, including faults that could not strike the one before. */
  #issueLine(): ScriptLine {
    const { move, faults } = this.#next();
    return { move, faults: [...this.#waiting.splice(0), ...faults] };
  }

  #next(): ScriptLine {
    const { value, done } = this.#slots.next();
    if (done !== true) return { move: this.#ids.refresh(value.move), faults: value.faults };
    // A generator that has ended gives its last faults only once.
    const faults = value ?? [];
    if (this.#part.after !== "repeat") return { move: "over", faults };
    this.#slots = this.#startSlots();
    const first = this.#slots.next();
    // A whole round of branches without a move: searching on would never end.
    if (first.done === true) return { move: "over", faults };
    return { move: this.#ids.refresh(first.value.move), faults: [...faults, ...first.value.faults] };
  }

  #startSlots(): Slots {
    return walkSlots(this.#part.steps, (condition) => this.#meets(condition));
  }

  /** A request decides a condition only once, however often a repeated branch tests it. */
  #meets(condition: Condition): boolean {
    if (this.#branchContext === undefined)
      throw new Error("a script looks for its next move only when a request wants one");
    const { request, answers } = this.#branchContext;
    const known = answers.get(condition);
    if (known !== undefined) return known;
    const answer = condition(request);
    answers.set(condition, answer);
    return answer;
  }

  /** Made anew for each request: the one that gets it may not be the one for which the script ended. */
  #endMove(request: MessagesRequest): Move {
    return this.#part.after === "echo" ? echoMove(request) : endOfScriptMove(`The scenario “${this.name}”`);
  }
}

/** A move in progress, or `over` if there is none left, and the faults that are still to strike it. */
interface ScriptLine {
  readonly move: Move | "over";
  readonly faults: Fault[];
}

type Slots = Generator<Slot, Fault[]>;

/** The request that decides branches while the next move is searched. */
interface BranchContext {
  readonly request: MessagesRequest;
  readonly answers: Map<Condition, boolean>;
}

type StepsPart = Extract<LanePart, { kind: "steps" }>;

/** One reply of a script, and the faults that strike it, one per try. The receiver may remove faults. */
interface Slot {
  readonly move: Move;
  readonly faults: Fault[];
}

/** Called when a branch is reached: does the request that wants the next move meet the condition? */
type Meets = (condition: Condition) => boolean;

/**
 * The moves in order. A fault on its own goes with the next move; faults behind the last move are returned. If no move
 * is found context the step limit, the request is refused; the next request continues from there.
 */
function* walkSlots(steps: readonly Step[], meets: Meets): Generator<Slot, Fault[]> {
  const tally: Tally = { steps: 0 };
  let faults: Fault[] = [];
  for (const walked of walk({ steps, meets, tally })) {
    for (const fault of walked.faults) faults.push(fault);
    if (walked.move === undefined) continue;
    tally.steps = 0;
    yield { move: walked.move, faults };
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
  /** Number of the innermost repetition that these steps are in, counted from 1. */
  readonly number?: number | undefined;
}

/** Without a move: faults on their own. */
interface WalkedStep {
  readonly move?: Move;
  readonly faults: readonly Fault[];
}

function* walk({ steps, number, ...context }: StepWalk): Generator<WalkedStep> {
  for (const step of steps) {
    for (let time = 1; time <= (step.times ?? 1); time += 1) {
      context.tally.steps += 1;
      if (context.tally.steps > stepsWithoutMoveMax) yield { move: noMoveFound, faults: [] };
      yield* pass(step, { ...context, number: step.times === undefined ? number : time });
    }
  }
}

const noMoveFound: Move = {
  kind: "refuse",
  refusal: refusal("api_error", `the scenario has no move among its next ${stepsWithoutMoveMax} steps`),
};

function* pass(step: Step, context: Omit<StepWalk, "steps">): Generator<WalkedStep> {
  switch (step.kind) {
    case "move":
      yield {
        move: context.number === undefined ? step.move : insertNumber(step.move, context.number),
        faults: step.faults,
      };
      return;
    case "fault":
      yield { faults: step.faults };
      return;
    case "group":
      yield* walk({ ...context, steps: step.steps });
      return;
    case "branch":
      yield* walk({ ...context, steps: context.meets(step.meets) ? step.met : step.unmet });
  }
}

/** `<n>` in a repeated move is the number of the repetition. */
function insertNumber(move: Move, number: number): Move {
  if (move.kind === "refuse") return move;
  const insert = (text: string): string => text.replaceAll("<n>", String(number));
  return { ...move, blocks: move.blocks.map((block) => insertNumberInBlock(block, insert)) };
}

function insertNumberInBlock(block: MoveBlock, insert: (text: string) => string): MoveBlock {
  switch (block.type) {
    case "text":
      return { ...block, text: insert(block.text) };
    case "thinking":
    case "redacted_thinking":
      return { ...block, thinking: insert(block.thinking) };
    case "tool_use":
      return {
        ...block,
        input: insertNumberInObject(block.input, insert),
        ...(block.id === undefined ? {} : { id: insert(block.id) }),
        ...(block.rawInput === undefined ? {} : { rawInput: insert(block.rawInput) }),
      };
  }
}

const insertNumberInObject = (object: JsonObject, insert: (text: string) => string): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, insertNumberInJson(value, insert)]));

function insertNumberInJson(value: Json, insert: (text: string) => string): Json {
  if (typeof value === "string") return insert(value);
  if (isArray(value)) return value.map((item) => insertNumberInJson(item, insert));
  return isObject(value) ? insertNumberInObject(value, insert) : value;
}
