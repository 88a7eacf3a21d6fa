import type { MessagesRequest } from "palimpsest/internal/schema/wire/request";
import type { Actor, Move, Scene, Take } from "../actor/actor.ts";
import { adversaryActor } from "../actor/adversary.ts";
import { overMove } from "../actor/after.ts";
import { Cue } from "../actor/cue.ts";
import { echoActor, echoMove } from "../actor/echo.ts";
import { extractActor } from "../actor/extract.ts";
import { FreshIds } from "../actor/fresh-ids.ts";
import { compactionMove } from "../actor/summary.ts";
import type { Fault } from "../fault.ts";
import { type Random, seededRandom } from "../random.ts";
import { compileMove, type Lane, type Part, type Scenario } from "./compile.ts";
import type { Condition } from "./condition.ts";
import { flawsOf, pathText } from "./problem.ts";
import { moveForm, type MoveMaker } from "./schema.ts";
import { type Slot, slotsOf } from "./walk.ts";

/** Plays a scenario. Each lane keeps its own position, for as long as the actor lives. */
export function scriptActor(scenario: Scenario): Actor {
  const { seed } = scenario;
  const lanes = scenario.lanes.map((lane) => ({ lane, actor: actorOf(lane) }));
  const summaries = new Summaries(scenario.compaction);
  return {
    name: scenario.name,
    play: (scene) => {
      const summary = scene.purpose === "compaction" ? summaries.next() : undefined;
      if (summary !== undefined) return summary;
      const found = lanes.find(({ lane }) => lane.meets(scene.request));
      if (found === undefined) throw new Error("a scenario's last lane takes every request");
      return found.actor.play(seed === undefined ? scene : { ...scene, random: reseeded(scene, seed) });
    },
  };
}

/** A scenario's own summaries, in order; one that did not reach the client is given again. */
class Summaries {
  readonly #moves: readonly Move[];
  readonly #cue = new Cue<Move | undefined>();
  #at = 0;

  constructor(moves: readonly Move[]) {
    this.#moves = moves;
  }

  /** Undefined once all are spent. */
  next(): Take | undefined {
    const { slot, ...ends } = this.#cue.deal(() => this.#moves[this.#at++]);
    return slot === undefined ? undefined : { move: slot, ...ends };
  }
}

/** By the seed and the request: choices do not depend on which requests came before. */
const reseeded = ({ random }: Scene, seed: number): Random => seededRandom(seed ^ Math.floor(random() * 2 ** 32));

function actorOf({ name, part }: Lane): Actor {
  switch (part.kind) {
    case "steps":
      return summingUp(new Script(name, part));
    case "made":
      return summingUp({ name, play: async (scene) => ({ move: await madeMove(part.make, scene) }) });
    case "actor":
      return namedActor(part);
  }
}

/** Moves are replies: a compaction spends none of them. */
const summingUp = (actor: Actor): Actor => ({
  name: actor.name,
  play: (scene) => (scene.purpose === "compaction" ? { move: compactionMove(scene.request) } : actor.play(scene)),
});

function namedActor({ actor, modes }: Extract<Part, { kind: "actor" }>): Actor {
  switch (actor) {
    case "echo":
      return echoActor;
    case "extract":
      return extractActor;
    case "adversary":
      return adversaryActor(modes);
  }
}

async function madeMove(make: MoveMaker, scene: Scene): Promise<Move> {
  const read = moveForm.safeParse(await make(scene), { reportInput: true });
  const made = read.success ? compileMove(read.data) : { kind: "flawed" as const, flaws: flawsOf(read.error.issues) };
  if (made.kind === "move") return made.move;
  const text = made.flaws.map(({ at, what }) => `${pathText(at)} ${what}`.trim()).join("; ");
  throw new TypeError(`the scenario's function gave no move: ${text}`);
}

/**
 * Steps, played one after the other. A branch is decided by the request that reaches it; faults are spent when they
 * happen, moves unless they were lost. A refusal that went out is not lost: a retry gets what comes behind it.
 */
class Script implements Actor {
  readonly name: string;
  readonly #part: StepsPart;
  readonly #cue = new Cue<Line>();
  readonly #ids = new FreshIds();
  /** Faults of moves that were delivered without them. */
  readonly #waiting: Fault[] = [];
  #slots: Slots;
  #asked: Asked | undefined;

  constructor(name: string, part: StepsPart) {
    this.name = name;
    this.#part = part;
    this.#slots = this.#fromTheStart();
  }

  play({ request }: Scene): Take {
    this.#asked = { request, answers: new Map() };
    const { slot, delivered, lost } = this.#cue.deal(() => this.#dealt());
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
  #dealt(): Line {
    const { move, faults } = this.#next();
    return { move, faults: [...this.#waiting.splice(0), ...faults] };
  }

  #next(): Line {
    const { value, done } = this.#slots.next();
    if (done !== true) return { move: this.#ids.of(value.move), faults: value.faults };
    // A generator that has ended gives its last faults only once.
    const faults = value ?? [];
    if (this.#part.after !== "repeat") return { move: "over", faults };
    this.#slots = this.#fromTheStart();
    const first = this.#slots.next();
    // A whole round of branches without a move: looking further would never end.
    if (first.done === true) return { move: "over", faults };
    return { move: this.#ids.of(first.value.move), faults: [...faults, ...first.value.faults] };
  }

  #fromTheStart(): Slots {
    return slotsOf(this.#part.steps, (condition) => this.#meets(condition));
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
    return this.#part.after === "echo" ? echoMove(request) : overMove(`The scenario “${this.name}”`);
  }
}

/** A move that is under way, or none any more, and the faults that are still to befall it. */
interface Line {
  readonly move: Move | "over";
  readonly faults: Fault[];
}

type Slots = Generator<Slot, Fault[]>;

/** Whom branches ask while the next move is looked for. */
interface Asked {
  readonly request: MessagesRequest;
  readonly answers: Map<Condition, boolean>;
}

type StepsPart = Extract<Part, { kind: "steps" }>;
