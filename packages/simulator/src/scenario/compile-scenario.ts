import { millis } from "palimpsest/internal/schema/brand";
import type { Move, MoveBlock, AfterMode } from "../responder/responder.ts";
import type { AdversaryMode } from "../responder/adversary-responder.ts";
import { parseFault, type Fault } from "../fault/fault.ts";
import { repeatsMax } from "../limits.ts";
import { type Refusal, refusal } from "../refusal.ts";
import {
  type Flaw,
  type Place,
  type ConditionForm,
  type LaneForm,
  type MoveForm,
  moveForm,
  type MoveMaker,
  type ScenarioForm,
  type StepForm,
  patternTest,
} from "./scenario-form.ts";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import {
  allTexts,
  collectToolCalls,
  lastUserText,
  newestResults,
  listTools,
  systemText,
} from "../responder/request-text.ts";

/** A compiled scenario: a value without state, usable by any number of responders. */
export interface Scenario {
  readonly name: string;
  readonly seed?: number;
  /** A request goes to the first lane whose condition it meets; the last lane has no condition. */
  readonly lanes: readonly Lane[];
  /** Replies to compactions on the server, in order. */
  readonly compaction: readonly Move[];
}

export interface Lane {
  readonly name: string;
  readonly meets: Condition;
  readonly part: LanePart;
}

export type LanePart =
  | { readonly kind: "steps"; readonly steps: readonly Step[]; readonly after: AfterMode }
  | { readonly kind: "computed"; readonly make: MoveMaker }
  | {
      readonly kind: "responder";
      readonly responder: NonNullable<LaneForm["responder"]>;
      readonly modes?: readonly AdversaryMode[];
    };

export type Step = { readonly times: number | undefined } & (
  | { readonly kind: "move"; readonly move: Move; readonly faults: readonly Fault[] }
  | {
      readonly kind: "branch";
      readonly meets: Condition;
      readonly met: readonly Step[];
      readonly unmet: readonly Step[];
    }
  | { readonly kind: "group"; readonly steps: readonly Step[] }
  | { readonly kind: "fault"; readonly faults: readonly Fault[] }
);

interface FlawedScenario {
  readonly kind: "flawed";
  readonly flaws: readonly Flaw[];
}
export type CompileOutcome = { readonly kind: "scenario"; readonly scenario: Scenario } | FlawedScenario;

/** Checks which fields go together, and compiles conditions, moves and faults. */
export function compileScenario(form: ScenarioForm): CompileOutcome {
  const compiler = new Compiler();
  const lanes = (form.lanes ?? []).map((lane, at): Lane => ({
    name: lane.name,
    meets: compiler.condition(lane.when, ["lanes", at, "when"]),
    part: compiler.part(lane, ["lanes", at]),
  }));
  const compaction = (form.compaction ?? []).map((move, at) => compiler.move(move, ["compaction", at]));
  const main: Lane = { name: form.name, meets: () => true, part: compiler.part(form, []) };
  if (compiler.flaws.length > 0) return { kind: "flawed", flaws: compiler.flaws };
  const { name, seed } = form;
  const scenario = { name, ...(seed === undefined ? {} : { seed }), lanes: [...lanes, main], compaction };
  return { kind: "scenario", scenario };
}

/** Compiles a single move, for moves that a function makes. */
export function compileMove(form: MoveForm): { readonly kind: "move"; readonly move: Move } | FlawedScenario {
  const compiler = new Compiler();
  const move = compiler.move(form, []);
  return compiler.flaws.length === 0 ? { kind: "move", move } : { kind: "flawed", flaws: compiler.flaws };
}

class Compiler {
  readonly flaws: Flaw[] = [];

  part({ moves, actor, responder = actor, modes, after }: LaneForm, at: Place): LanePart {
    if (modes !== undefined && responder !== "adversary")
      this.#flaw([...at, "modes"], "belongs to `responder: adversary`");
    if (responder !== undefined) {
      if (actor !== undefined && actor !== responder)
        this.#flaw([...at, "actor"], "is the older name of `responder`; give one of them");
      if (moves !== undefined)
        this.#flaw([...at, actor === undefined ? "responder" : "actor"], "cannot be combined with `moves`");
      if (after !== undefined) this.#flaw([...at, "after"], "belongs to `moves`; a responder never ends");
      return { kind: "responder", responder, ...(modes === undefined ? {} : { modes }) };
    }
    if (moves === undefined) this.#flaw(at, "needs `moves` or `responder`");
    if (typeof moves === "function") {
      if (after !== undefined) this.#flaw([...at, "after"], "belongs to a list of `moves`; a function never ends");
      return { kind: "computed", make: moves };
    }
    if (moves?.length === 0) this.#flaw([...at, "moves"], "is an empty list; give it a move, or `responder` instead");
    const steps = this.#steps(moves ?? [], { at: [...at, "moves"], repeats: 1 });
    return { kind: "steps", steps, after: after ?? "end" };
  }

  condition(form: ConditionForm, at: Place): Condition {
    this.#checkCondition(form, at);
    return compileCondition(form);
  }

  #checkCondition(form: ConditionForm, at: Place): void {
    if (Object.keys(form).length === 0) this.#flaw(at, "is empty; name at least one thing that must hold");
    if (form.not !== undefined) this.#checkCondition(form.not, [...at, "not"]);
    for (const field of ["all", "any"] as const)
      for (const [index, inner] of (form[field] ?? []).entries()) this.#checkCondition(inner, [...at, field, index]);
  }

  move(form: MoveForm, at: Place): Move {
    const { refuse, stop, delayMs, pauseMs } = form;
    if (refuse !== undefined) {
      this.#excludeFields({ form, at, field: "refuse", others: moveFields.filter((name) => name !== "refuse") });
      return { kind: "refuse", refusal: toRefusal(refuse) };
    }
    return {
      kind: "say",
      blocks: this.#blocks(form, at),
      ...(stop === undefined ? {} : { stop }),
      ...(delayMs === undefined ? {} : { delayMs: millis(delayMs) }),
      ...(pauseMs === undefined ? {} : { pauseMs: millis(pauseMs) }),
    };
  }

  #steps(forms: readonly StepForm[], { at, repeats }: StepContext): readonly Step[] {
    return forms.map((form, index) => this.#step(form, { at: [...at, index], repeats }));
  }

  #step(form: StepForm, { at, repeats: around }: StepContext): Step {
    const { when, do: met = [], else: unmet = [], moves, fault, repeat: times } = form;
    const repeats = around * (times ?? 1);
    if (repeats > repeatsMax && around <= repeatsMax)
      this.#flaw([...at, "repeat"], `makes ${repeats} together with those around it; up to ${repeatsMax} are allowed`);
    if (when !== undefined) {
      this.#excludeFields({ form, at, field: "when", others: [...moveFields, "moves", "fault"] });
      if (form.do === undefined && form.else === undefined) this.#flaw(at, "has `when` and needs `do` or `else`");
      return {
        kind: "branch",
        meets: this.condition(when, [...at, "when"]),
        met: this.#steps(met, { at: [...at, "do"], repeats }),
        unmet: this.#steps(unmet, { at: [...at, "else"], repeats }),
        times,
      };
    }
    for (const field of ["do", "else"] as const)
      if (form[field] !== undefined) this.#flaw([...at, field], "needs `when` in the same step");
    if (moves !== undefined) {
      this.#excludeFields({ form, at, field: "moves", others: [...moveFields, "fault"] });
      return { kind: "group", steps: this.#steps(moves, { at: [...at, "moves"], repeats }), times };
    }
    const faults = this.#faults(fault, [...at, "fault"]);
    if (fault !== undefined && Object.keys(form).every((field) => field === "fault" || field === "repeat"))
      return { kind: "fault", faults, times };
    return { kind: "move", move: this.move(form, at), faults, times };
  }

  #faults(written: StepForm["fault"], at: Place): readonly Fault[] {
    const texts = typeof written === "string" ? [written] : (written ?? []);
    return texts.flatMap((text, index) => {
      const reading = parseFault(text);
      if (reading.kind === "fault" && reading.fault.kind !== "compaction-unavailable") return [reading.fault];
      const what = reading.kind === "fault" ? "cannot strike a move; give `compaction` a `refuse`" : reading.message;
      this.#flaw(typeof written === "string" ? at : [...at, index], what);
      return [];
    });
  }

  #blocks(form: MoveForm, at: Place): readonly MoveBlock[] {
    if (form.blocks !== undefined) {
      this.#excludeFields({ form, at, field: "blocks", others: ["text", "thinking", "tools"] });
      return form.blocks.flatMap((block, index) => this.#block(block, [...at, "blocks", index]));
    }
    const { thinking, text, tools = [] } = form;
    if (thinking === undefined && text === undefined && tools.length === 0)
      this.#flaw(at, "says nothing; give it `text`, `thinking`, `tools`, `blocks` or `refuse`");
    return [
      ...(thinking === undefined ? [] : [{ type: "thinking", thinking } as const]),
      ...(text === undefined ? [] : [{ type: "text", text } as const]),
      ...tools.map(toolCallBlock),
    ];
  }

  #block(form: BlockForm, at: Place): readonly MoveBlock[] {
    const { text, thinking, redacted, tool } = form;
    if (Object.keys(form).length !== 1) this.#flaw(at, "needs exactly one of `text`, `thinking`, `redacted`, `tool`");
    if (text !== undefined) return [{ type: "text", text }];
    if (thinking !== undefined) return [{ type: "thinking", thinking }];
    if (redacted !== undefined) return [{ type: "redacted_thinking", thinking: redacted }];
    return tool === undefined ? [] : [toolCallBlock(tool)];
  }

  #excludeFields({
    form,
    at,
    field,
    others,
  }: {
    readonly form: object;
    readonly at: Place;
    readonly field: string;
    readonly others: readonly string[];
  }): void {
    for (const other of Object.keys(form))
      if (others.includes(other)) this.#flaw([...at, other], `cannot be combined with \`${field}\``);
  }

  #flaw(at: Place, what: string): void {
    this.flaws.push({ at, what });
  }
}

/** The context of a list of steps. */
interface StepContext {
  readonly at: Place;
  /** How often it is run. */
  readonly repeats: number;
}

const moveFields = Object.keys(moveForm.shape);

type BlockForm = NonNullable<MoveForm["blocks"]>[number];
type ToolForm = NonNullable<MoveForm["tools"]>[number];

const toolCallBlock = ({ name, input = {}, id, rawInput }: ToolForm): MoveBlock => ({
  type: "tool_use",
  name,
  input,
  ...(id === undefined ? {} : { id }),
  ...(rawInput === undefined ? {} : { rawInput }),
});

function toRefusal({ type, message, errorCode, retryAfterSeconds }: NonNullable<MoveForm["refuse"]>): Refusal {
  return refusal(type, message, {
    ...(errorCode === undefined ? {} : { errorCode }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}

export type Condition = (request: MessagesRequest) => boolean;

/** All fields of a condition must hold. */
export function compileCondition(form: ConditionForm): Condition {
  const parts = conditionTests(form);
  return (request) => parts.every((holds) => holds(request));
}

function conditionTests(form: ConditionForm): readonly Condition[] {
  const { tool, called, turns, not, all, any } = form;
  const parts: Condition[] = [...textTests(form)];
  if (tool !== undefined) parts.push((request) => listTools(request).some(({ name }) => name === tool));
  if (called !== undefined) parts.push((request) => collectToolCalls(request).some(({ name }) => name === called));
  if (turns !== undefined) {
    const { atLeast = 0, atMost = Infinity } = turns;
    parts.push((request) => countTurns(request) >= atLeast && countTurns(request) <= atMost);
  }
  if (not !== undefined) {
    const holds = compileCondition(not);
    parts.push((request) => !holds(request));
  }
  if (all !== undefined) parts.push(...all.map(compileCondition));
  if (any !== undefined) {
    const choices = any.map(compileCondition);
    parts.push((request) => choices.some((holds) => holds(request)));
  }
  return parts;
}

function textTests({ lastUser, anyText, system, result }: ConditionForm): readonly Condition[] {
  const where: readonly [string | undefined, (request: MessagesRequest) => readonly string[]][] = [
    [lastUser, (request) => [lastUserText(request)]],
    [anyText, allTexts],
    [system, (request) => [systemText(request)]],
    [result, newestResults],
  ];
  return where.flatMap(([pattern, texts]) => {
    if (pattern === undefined) return [];
    const matches = patternTest(pattern);
    return [(request: MessagesRequest) => texts(request).some(matches)];
  });
}

const countTurns = ({ messages }: MessagesRequest): number =>
  messages.filter(({ role }) => role === "assistant").length;
