import { z } from "zod";
import { toolNamePattern } from "palimpsest/internal/schema/block";
import { anyJson } from "palimpsest/internal/schema/any-json";
import { type ErrorType, statusByErrorType, stopReasons } from "palimpsest/internal/schema/wire/reply-message";
import { adversaryModes } from "../responder/adversary-responder.ts";
import { afterModes, type RespondInput } from "../responder/responder.ts";
import { repeatsMax, waitMillisMax } from "../limits.ts";

/**
 * A scenario as users write it, in YAML or in a module. Each place has one form: rules on which fields go together are
 * in `compile-scenario.ts`, so that a wrong field is reported where it stands and not as "no form of the union fits".
 */
const strictForm = <Shape extends z.core.$ZodLooseShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> =>
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

export const conditionForm = strictForm({
  /** In the last text of the user. */
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
  turns: strictForm({ atLeast: z.int().min(0).optional(), atMost: z.int().min(0).optional() }).optional(),
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

const toolForm = strictForm({
  name: z.string().regex(toolNamePattern, { error: "expected up to 128 letters, digits, _ and -, as the API does" }),
  input: z.record(z.string(), anyJson).optional(),
  id: z.string().min(1).optional(),
  rawInput: z.string().optional(),
});

const blockForm = strictForm({
  text: z.string().optional(),
  thinking: z.string().optional(),
  redacted: z.string().optional(),
  tool: toolForm.optional(),
});

const refuseForm = strictForm({
  type: z.custom<ErrorType>((type) => typeof type === "string" && Object.hasOwn(statusByErrorType, type), {
    error: `expected one of ${Object.keys(statusByErrorType).join(", ")}`,
  }),
  message: z.string(),
  errorCode: z.string().optional(),
  retryAfterSeconds: z.int().min(0).optional(),
});

/** The reply to one request. */
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

export const moveForm = strictForm(moveFields);

/**
 * A move, a branch (`when`, `do`, `else`), a group (`moves`) or a fault on its own. The fields of a move are repeated
 * here because the compiler cannot infer a recursive form behind a spread.
 */
export const stepForm = strictForm({
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

const moveMaker = z.custom<MoveMaker>((value) => typeof value === "function", {
  error: "expected a list of moves, or in a module a function from an input to a move",
});

const responderName = z.enum(["echo", "extract", "adversary"]);

const laneFields = {
  moves: z.union([z.array(stepForm), moveMaker], { error: "expected a list of moves" }).optional(),
  responder: responderName.optional(),
  /** The older name of `responder`. */
  actor: responderName.optional(),
  modes: z.array(z.enum(adversaryModes)).min(1).optional(),
  after: z.enum(afterModes).optional(),
};

export const laneForm = strictForm({ name: z.string().min(1), when: conditionForm, ...laneFields });

export const scenarioForm = strictForm({
  name: z.string().min(1),
  seed: z.int().optional(),
  lanes: z.array(laneForm).optional(),
  ...laneFields,
  /** Replies to the server's requests for a summary, one each; after them summaries are made by rule. */
  compaction: z.array(moveForm).optional(),
});

export type ConditionForm = z.infer<typeof conditionForm>;
export type MoveForm = z.infer<typeof moveForm>;
export type StepForm = z.infer<typeof stepForm>;
export type LaneForm = Pick<ScenarioForm, keyof typeof laneFields>;
/** Also what a module exports as `scenario`. */
export type ScenarioForm = z.infer<typeof scenarioForm>;

/** Moves of a module, made on demand. The result is checked like a move in a file. */
export type MoveMaker = (input: RespondInput) => MoveForm | Promise<MoveForm>;

/** Tests a text: `/…/flags` is a regular expression, anything else a substring in any case. */
export function patternTest(written: string): (text: string) => boolean {
  const expression = parseExpression(written);
  if (expression !== undefined) return (text) => expression.test(text);
  const part = written.toLowerCase();
  return (text) => text.toLowerCase().includes(part);
}

/** Why a pattern is invalid; undefined if it is valid. */
export function patternProblem(written: string): string | undefined {
  try {
    parseExpression(written);
    return undefined;
  } catch (error) {
    return `is not a regular expression: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Drops `g` and `y`, which would make one test depend on the previous one. Throws on a malformed expression. */
function parseExpression(written: string): RegExp | undefined {
  const [, source, flags] = /^\/(.+)\/([dgimsuvy]*)$/s.exec(written) ?? [];
  return source === undefined ? undefined : new RegExp(source, (flags ?? "").replaceAll(/[gy]/g, ""));
}

/** Something in a scenario that is wrong. */
export interface ScenarioProblem {
  readonly file: string;
  /** Counted from 1; absent for a module, which has no lines left once it runs. */
  readonly line?: number;
  readonly column?: number;
  /** Place in the scenario: `moves[2].tools[0].name`; empty if the problem is about the whole. */
  readonly path: string;
  /** A clause whose subject is the place, with what is allowed there. */
  readonly what: string;
}

export function formatScenarioProblem({ file, line, column, path, what }: ScenarioProblem): string {
  const place = line === undefined ? file : `${file}:${line}:${column ?? 1}`;
  return path === "" ? `${place}: ${what}` : `${place}: ${path}: ${what}`;
}

/** Keys and indices from the top of the scenario down. */
export type Place = readonly PropertyKey[];

/** A problem before its file is known. */
export interface Flaw {
  readonly at: Place;
  readonly what: string;
}

export const formatPath = (at: Place): string =>
  at
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`))
    .join("")
    .replace(/^\./, "");

/** For values that were parsed with `reportInput`, which tells missing from wrong. */
export const collectFlaws = (issues: readonly z.core.$ZodIssue[], above: Place = []): readonly Flaw[] =>
  issues.flatMap((issue) => {
    const at = [...above, ...issue.path];
    switch (issue.code) {
      case "unrecognized_keys":
        return issue.keys.map((key) => ({ at: [...at, key], what: issue.message }));
      case "invalid_union":
        return unionFlaws(issue, at);
      default:
        return [{ at, what: issue.input === undefined ? `is missing; ${describeIssue(issue)}` : describeIssue(issue) }];
    }
  });

/** Of the forms that a value could have, the one that fits furthest is taken as the intended one. */
function unionFlaws(issue: z.core.$ZodIssueInvalidUnion, at: Place): readonly Flaw[] {
  const inner = issue.errors.map((issues) => collectFlaws(issues, at));
  const deepest = inner.toSorted((one, other) => flawDepth(other) - flawDepth(one))[0] ?? [];
  return flawDepth(deepest) > at.length ? deepest : [{ at, what: issue.message }];
}

const flawDepth = (flaws: readonly Flaw[]): number => Math.max(0, ...flaws.map(({ at }) => at.length));

function describeIssue(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.expected === "object" ? issue.message : `expected ${nameByType[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return `expected one of ${issue.values.map(String).join(", ")}`;
    case "too_small":
      if (issue.origin === "string") return "expected a text that is not empty";
      return issue.origin === "array" ? "expected a list that is not empty" : `expected a number from ${issue.minimum}`;
    case "too_big":
      return `expected a number up to ${issue.maximum}`;
    default:
      return issue.message;
  }
}

const nameByType: Readonly<Record<string, string>> = {
  string: "a text",
  int: "a whole number",
  number: "a number",
  array: "a list",
  record: "fields with values",
  boolean: "true or false",
};
