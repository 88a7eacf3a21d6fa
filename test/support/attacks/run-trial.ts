import { type ArenaKind, makeArena } from "./arena.ts";
import { type AttackedAgent, type CallEnd, openAttackedAgent } from "./attacked-agent.ts";
import type { Effect } from "./attempt.ts";
import { choiceFor, forbiddenEffects } from "./configurations.ts";
import type { Trial } from "./trials.ts";
import { openWitness, type Witness } from "./witness.ts";

/** What became of an attempt. */
export interface TrialEnd {
  /** Of the line at which it ended. */
  readonly end: CallEnd["kind"];
  /** Effects that must not be. */
  readonly through: readonly Effect[];
  /** The reason, or the end of what it wrote. */
  readonly text: string;
  /** Of the command at which it ended. */
  readonly outcome: CallEnd["outcome"];
}

/** An arena with its agent and those who watch. It goes with its container. */
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

/** The arena is as new afterwards. */
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
  // What a job does is seen while it runs, too: somebody may clean up behind it.
  const glimpsed = hasRun && attempt.background === true ? witness.glance() : [];
  const last = attempt.background === true ? await agent.endJobs() : "";
  const effects = hasRun ? [...glimpsed, ...(await witness.look(attempt, `${output}\n${last}`))] : [];
  const { kind, text, outcome } = ends.at(-1) ?? { kind: "wrong", text: "", outcome: "none" };
  return { end: kind, through: forbiddenEffects(trial, effects), text: text.slice(-shownCharsMax), outcome };
}

const shownCharsMax = 400;
