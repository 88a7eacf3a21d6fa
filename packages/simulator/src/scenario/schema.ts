import { z } from "zod";
import { toolNameForm } from "palimpsest/internal/schema/block";
import { anyJson } from "palimpsest/internal/schema/any-json";
import { type ErrorType, statusByErrorType } from "palimpsest/internal/schema/wire/error";
import { stopReasons } from "palimpsest/internal/schema/wire/reply";
import { adversaryModes } from "../actor/adversary-mode.ts";
import { afters } from "../actor/after.ts";
import { repeatsMax, waitMillisMax } from "../limits.ts";
import type { Scene } from "../actor/actor.ts";
import { patternProblem } from "./pattern.ts";

/**
 * A scenario as people write it, in YAML or in a module. One form a place: rules on which fields go together are in
 * `compile.ts`, so that a wrong field is reported where it stands and not as "no form of the union fits".
 */
const closed = <Shape extends z.core.$ZodLooseShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> =>
  z.strictObject(shape, {
    error: ({ code }) =>
      `${code === "unrecognized_keys" ? "is not known here" : "expected fields with values"}; allowed: ${Object.keys(shape).join(", ")}`,
  });

const pattern = z
  .string()
  .min(1)
  .superRefine((text, context) => {
    const problem = patternProblem(text);
    if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
  });

const wait = z.int().min(0).max(waitMillisMax);

export const conditionForm = closed({
  /** In the last text that the user said. */
  lastUser: pattern.optional(),
  /** In any text of any message, results included. */
  anyText: pattern.optional(),
  system: pattern.optional(),
  /** In a result of the newest message that holds results. */
  result: pattern.optional(),
  /** A tool of this name is offered. */
  tool: z.string().min(1).optional(),
  /** A tool of this name has been called. */
  called: z.string().min(1).optional(),
  /** Assistant messages so far. */
  turns: closed({ atLeast: z.int().min(0).optional(), atMost: z.int().min(0).optional() }).optional(),
  get not(): z.ZodOptional<typeof conditionForm> {
    return conditionForm.optional();
  },
  get all(): z.ZodOptional<z.ZodArray<typeof conditionForm>> {
    return z.array(conditionForm).min(1).optional();
  },
  get any(): z.ZodOptional<z.ZodArray<typeof conditionForm>> {
    return z.array(conditionForm).min(1).optional();
  },
});

const toolForm = closed({
  name: z.string().regex(toolNameForm, { error: "expected up to 128 letters, digits, _ and -, as the API does" }),
  input: z.record(z.string(), anyJson).optional(),
  id: z.string().min(1).optional(),
  rawInput: z.string().optional(),
});

const blockForm = closed({
  text: z.string().optional(),
  thinking: z.string().optional(),
  redacted: z.string().optional(),
  tool: toolForm.optional(),
});

const refuseForm = closed({
  type: z.custom<ErrorType>((type) => typeof type === "string" && Object.hasOwn(statusByErrorType, type), {
    error: `expected one of ${Object.keys(statusByErrorType).join(", ")}`,
  }),
  message: z.string(),
  errorCode: z.string().optional(),
  retryAfterSeconds: z.int().min(0).optional(),
});

/** What one request is answered with. */
const moveFields = {
  text: z.string().optional(),
  thinking: z.string().optional(),
  tools: z.array(toolForm).min(1).optional(),
  blocks: z.array(blockForm).optional(),
  refuse: refuseForm.optional(),
  stop: z.enum(stopReasons).optional(),
  delayMs: wait.optional(),
  pauseMs: wait.optional(),
};

export const moveForm = closed(moveFields);

/**
 * A move, a branch (`when`, `do`, `else`), a group (`moves`) or a fault on its own. The fields of a move are named one
 * by one, since the compiler can't infer a recursive form behind a spread.
 */
export const stepForm = closed({
  text: moveFields.text,
  thinking: moveFields.thinking,
  tools: moveFields.tools,
  blocks: moveFields.blocks,
  refuse: moveFields.refuse,
  stop: moveFields.stop,
  delayMs: moveFields.delayMs,
  pauseMs: moveFields.pauseMs,
  fault: z
    .union([z.string(), z.array(z.string()).min(1)], { error: "expected a fault or a list of faults" })
    .optional(),
  repeat: z.int().min(1).max(repeatsMax).optional(),
  when: conditionForm.optional(),
  get do(): z.ZodOptional<z.ZodArray<typeof stepForm>> {
    return z.array(stepForm).optional();
  },
  get else(): z.ZodOptional<z.ZodArray<typeof stepForm>> {
    return z.array(stepForm).optional();
  },
  get moves(): z.ZodOptional<z.ZodArray<typeof stepForm>> {
    return z.array(stepForm).min(1).optional();
  },
});

const maker = z.custom<MoveMaker>((value) => typeof value === "function", {
  error: "expected a list of moves, or in a module a function from a scene to a move",
});

const laneFields = {
  moves: z.union([z.array(stepForm), maker], { error: "expected a list of moves" }).optional(),
  actor: z.enum(["echo", "extract", "adversary"]).optional(),
  modes: z.array(z.enum(adversaryModes)).min(1).optional(),
  after: z.enum(afters).optional(),
};

export const laneForm = closed({ name: z.string().min(1), when: conditionForm, ...laneFields });

export const scenarioForm = closed({
  name: z.string().min(1),
  seed: z.int().optional(),
  lanes: z.array(laneForm).optional(),
  ...laneFields,
  /** What the server is answered that wants a summary to compact with, one each; then one is made by rule. */
  compaction: z.array(moveForm).optional(),
});

export type ConditionForm = z.infer<typeof conditionForm>;
export type MoveForm = z.infer<typeof moveForm>;
export type StepForm = z.infer<typeof stepForm>;
export type LaneForm = Pick<ScenarioForm, keyof typeof laneFields>;
/** Also what a module exports as `scenario`. */
export type ScenarioForm = z.infer<typeof scenarioForm>;

/** Moves of a module: made when they are wanted. What comes back is checked like a move in a file. */
export type MoveMaker = (scene: Scene) => MoveForm | Promise<MoveForm>;
