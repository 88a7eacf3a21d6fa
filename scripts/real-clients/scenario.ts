import type { Json } from "../../packages/palimpsest/src/schema/json.ts";
import type { Scenario } from "../../packages/simulator/src/scenario/compile-scenario.ts";
import { formatScenarioProblem } from "../../packages/simulator/src/scenario/scenario-form.ts";
import { parseScenario } from "../../packages/simulator/src/scenario/read-scenario.ts";
import type { RealClient } from "./client.ts";

/**
 * What the model behind a client does: one command (`turn`), so many commands with long results that the client compacts
 * (`compaction`), one command for each fault that a client can try again after (`faults`), a broken stream (`break`).
 */
export const runKinds = ["turn", "compaction", "faults", "break"] as const;
export type RunKind = (typeof runKinds)[number];

export const expectedAnswer = "The shell answered.";
export const probe = "PROBE_42";

interface ScenarioInput {
  readonly client: RealClient;
  readonly model: string;
  readonly kind: RunKind;
  /** How many long results a run for compaction has. */
  readonly rounds?: number;
  readonly linesOfResult?: number;
  /** After so many rounds the model calls `recall`, if it is offered. */
  readonly roundsBetweenRecalls?: number;
}

/** Enough to fill the smallest window of every client at least once. */
const roundsUsual = 14;
const linesUsual = 400;

const faultsTried = ["overloaded", "rate-limit retry-after=1", "server-error", "reset"] as const;

/** Claude Code and Codex offer their tools in requests for a summary too; these words tell the model not to use them. */
const summaryRequests = ["respond with text only", "context checkpoint compaction"];

/**
 * Lanes of their own answer what clients ask beside their loop: titles, and summaries in their own words. Answers by
 * `extract` are never empty.
 */
export function clientScenario(input: ScenarioInput): Scenario {
  const { client, model, kind } = input;
  const { name } = client.shellCall("", model);
  const file = `${client.name}, ${kind}`;
  const form: Json = {
    name: file,
    lanes: [
      { name: "summaries", when: { any: summaryRequests.map((lastUser) => ({ lastUser })) }, responder: "extract" },
      { name: "beside the loop", when: { not: { tool: name } }, responder: "extract" },
    ],
    moves: [...moves(input), ...lastMoves(input)],
  };
  const parsed = parseScenario({ file, text: JSON.stringify(form) });
  if (parsed.kind !== "scenario") throw new Error(parsed.problems.map(formatScenarioProblem).join("\n"));
  return parsed.scenario;
}

function moves(input: ScenarioInput): readonly Json[] {
  const { client, model, kind, rounds = roundsUsual, linesOfResult = linesUsual } = input;
  const call = (command: string): Json => ({
    thinking: "The shell knows.",
    tools: [client.shellCall(command, model)],
  });
  switch (kind) {
    case "turn":
      return [];
    case "compaction": {
      const lines = `seq -f 'round <n>, line %g of a long result that fills the window' ${linesOfResult}`;
      const { roundsBetweenRecalls: between = rounds } = input;
      const parts = Array.from({ length: Math.ceil(rounds / between) }, (_, at) =>
        Math.min(between, rounds - at * between),
      );
      return parts.flatMap((repeat, at) => [...(at === 0 ? [] : [recallMove]), { repeat, moves: [call(lines)] }]);
    }
    case "faults":
      return faultsTried.flatMap((fault, at) => [{ fault }, call(`echo after fault ${at}`)]);
    case "break":
      return [{ fault: "break after=4" }, call("echo after the break")];
  }
}

const recallMove: Json = {
  when: { tool: "recall" },
  do: [
    {
      thinking: "It was long ago.",
      text: "I look up an early result. ",
      tools: [{ name: "recall", input: { query: "round 3, line 7" } }],
    },
  ],
};

/** The answer says whether the result of the probe came back; a compaction may have made it part of a summary. */
const lastMoves = ({ client, model, kind }: ScenarioInput): readonly Json[] => [
  { thinking: "Now the probe.", tools: [client.shellCall(`echo ${probe}`, model)] },
  kind === "compaction"
    ? { text: expectedAnswer }
    : { when: { result: probe }, do: [{ text: expectedAnswer }], else: [{ text: "The shell did not answer." }] },
];
