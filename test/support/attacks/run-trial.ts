import { type ArenaKind, makeArena } from "./arena.ts";
import { type AttackedAgent, type CallEnd, openAttackedAgent } from "./attacked-agent.ts";
import type { Effect } from "./attempt.ts";
import { choiceFor, forbiddenEffects } from "./configurations.ts";
import type { Trial } from "./trials.ts";
import { openWitness, type Witness } from "./witness.ts";

/** The result of an attempt. */
export interface TrialEnd {
  /** The outcome of its last line. */
  readonly end: CallEnd["kind"];
  /** Forbidden effects. */
  readonly through: readonly Effect[];
  /** The reason, or the end of the output. */
  readonly text: string;
  /** The outcome of its last command. */
  readonly outcome: CallEnd["outcome"];
}

/** An arena with its agent and witnesses. It is removed with its container. */
export interface Stage {
  readonly agent: AttackedAgent;
  readonly witness: Witness;
}

export async function openStage(kind: ArenaKind): Promise<Stage> {
  const arena = makeArena(kind);
  process.chdir(arena.project);
  const agent = await openAttackedAgent(arena);
  const witness = await openWitness(arena);
  return { agent, witness };
}

/** Restores the arena afterwards. */
export async function runTrial({ agent, witness }: Stage, trial: Trial): Promise<TrialEnd> {
  const { attempt, setting } = trial;
  const choice = choiceFor(attempt, setting);
  const call = agent.begin({ attempt, choice, setting });
  const ends: CallEnd[] = [];
  for (const line of attempt.lines) {
    ends.push(await call(witness.fill(line)));
    if (ends.at(-1)?.kind !== "ran") break;
  }
  const output = ends.map(({ kind, text }) => (kind === "ran" ? text : "")).join("\n");
  const hasRun = ends.some(({ kind }) => kind === "ran");
  // Also looks while a job runs, because its traces may be removed later.
  const glimpsed = hasRun && attempt.background === true ? witness.glance() : [];
  const last = attempt.background === true ? await agent.endJobs() : "";
  const effects = hasRun ? [...glimpsed, ...(await witness.look(attempt, `${output}\n${last}`))] : [];
  const { kind, text, outcome } = ends.at(-1) ?? { kind: "wrong", text: "", outcome: "none" };
  return { end: kind, through: forbiddenEffects(trial, effects), text: text.slice(-shownCharsMax), outcome };
}

const shownCharsMax = 400;
