import { openLog } from "../loop/open.ts";
import type { Actor } from "../simulator/actor/actor.ts";
import { adversaryActor } from "../simulator/actor/adversary.ts";
import { echoActor } from "../simulator/actor/echo.ts";
import { extractActor } from "../simulator/actor/extract.ts";
import { recordedReplies } from "../simulator/actor/recorded.ts";
import { replayActor } from "../simulator/actor/replay.ts";
import { scenarioProblemText } from "../simulator/scenario/problem.ts";
import { readScenario } from "../simulator/scenario/read.ts";
import { scriptActor } from "../simulator/scenario/script.ts";
import type { CommandContext } from "./command.ts";
import { exitCode } from "./exit-code.ts";
import { failure, type Failure } from "./failure.ts";
import { humanCount, oneLine } from "./human.ts";
import { openNamedLog } from "./named-log.ts";

export const actorNames = ["echo", "extract", "adversary"] as const;

export interface Chosen {
  readonly kind: "actor";
  readonly actor: Actor;
  /** The scenario's, where it names one. */
  readonly seed?: number;
}

interface Asked {
  readonly scenario: string | undefined;
  readonly replay: string | undefined;
  readonly actor: string | undefined;
}

/** Who answers: a scenario, a recorded session, or one of the actors that need nothing. */
export async function chosenActor(context: CommandContext, asked: Asked): Promise<Chosen | Failure> {
  const given = [asked.scenario, asked.replay, asked.actor].filter((one) => one !== undefined);
  if (given.length > 1)
    return failure({
      code: exitCode.usage,
      message: "only one can answer",
      hint: "Give one of --scenario, --replay and --actor.",
    });
  if (asked.scenario !== undefined) return scripted(context, asked.scenario);
  if (asked.replay !== undefined) return replayed(context, asked.replay);
  switch (asked.actor) {
    case undefined:
    case "echo":
      return { kind: "actor", actor: echoActor };
    case "extract":
      return { kind: "actor", actor: extractActor };
    case "adversary":
      return { kind: "actor", actor: adversaryActor() };
    default:
      return failure({
        code: exitCode.usage,
        message: `there is no actor called ${asked.actor}`,
        hint: `Actors: ${actorNames.join(", ")}; --scenario and --replay bring their own.`,
      });
  }
}

async function scripted({ err }: CommandContext, file: string): Promise<Chosen | Failure> {
  const read = await readScenario(file);
  if (read.kind === "scenario") {
    const { seed } = read.scenario;
    return { kind: "actor", actor: scriptActor(read.scenario), ...(seed === undefined ? {} : { seed }) };
  }
  if (read.kind === "absent") return failure({ code: exitCode.notFound, message: `no file is called ${file}` });
  const hint = "`palimpsest help simulate` lists the fields.";
  const [first, ...others] = read.problems.map((problem) => oneLine(scenarioProblemText(problem)));
  if (first === undefined || others.length === 0)
    return failure({ code: exitCode.usage, message: first ?? `${file} can't be read`, hint });
  for (const problem of [first, ...others].slice(0, problemsShownMax))
    await err.write(`${err.style("red", "error:")} ${problem}\n`);
  return failure({ code: exitCode.usage, message: `${file} has ${humanCount(read.problems.length)} problems`, hint });
}

/** More than anybody mends before the next try. */
const problemsShownMax = 100;

async function replayed(context: CommandContext, name: string): Promise<Chosen | Failure> {
  const log = await openNamedLog(context, name);
  if (log.kind === "failure") return log;
  try {
    // From the beginning: what a boundary covers was said too.
    const { source, origin } = log;
    const { fold } = await openLog(log, { source, origin, tailBytes: source.size });
    const replies = recordedReplies(fold.path.entries);
    if (replies.length > 0) return { kind: "actor", actor: replayActor({ replies }) };
    return failure({
      code: exitCode.notFound,
      message: `${name} holds no reply of a model`,
      hint: "`palimpsest view` shows what is in it.",
    });
  } finally {
    await log.source.close();
  }
}
