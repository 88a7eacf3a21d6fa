import { formatScenarioProblem } from "@palimpsest/simulator/internal/scenario/scenario-form";
import { readScenario } from "@palimpsest/simulator/internal/scenario/read-scenario";
import { scriptResponder } from "@palimpsest/simulator/internal/scenario/script-responder";
import type { CommandContext } from "../program/command.ts";
import { exitCode, failure, type Failure } from "../program/failure.ts";
import { formatNumber, joinLines } from "../text/format.ts";
import { openLog } from "palimpsest/internal/session/open-log";
import { collectReplies, replayResponder } from "@palimpsest/simulator/internal/responder/replay-responder";
import { openNamedLog } from "../session/named-log.ts";
import type { Responder } from "@palimpsest/simulator/internal/responder/responder";

/** A responder that follows a scenario. */
export async function loadScriptedResponder({ err }: CommandContext, file: string): Promise<ChosenResponder | Failure> {
  const outcome = await readScenario(file);
  if (outcome.kind === "scenario") {
    const { scenario } = outcome;
    return { kind: "responder", responder: scriptResponder(scenario), seed: scenario.seed };
  }
  if (outcome.kind === "absent") return failure({ code: exitCode.notFound, message: `no file is called ${file}` });
  const hint = "`palimpsest help simulate` lists the fields.";
  const [first, ...others] = outcome.problems.map((problem) => joinLines(formatScenarioProblem(problem)));
  if (first === undefined || others.length === 0)
    return failure({ code: exitCode.usage, message: first ?? `${file} can't be read`, hint });
  for (const problem of [first, ...others].slice(0, problemsShownMax))
    await err.write(`${err.style("red", "error:")} ${problem}\n`);
  return failure({
    code: exitCode.usage,
    message: `${file} has ${formatNumber(outcome.problems.length)} problems`,
    hint,
  });
}

/** More than anyone fixes before the next try. */
const problemsShownMax = 100;

/** A responder that repeats the replies of a recorded session. */
export async function loadReplayResponder(context: CommandContext, name: string): Promise<ChosenResponder | Failure> {
  const log = await openNamedLog(context, name);
  if (log.kind === "failure") return log;
  try {
    // From the beginning: what a boundary covers was said too.
    const { source, origin } = log;
    const { fold } = await openLog(log, { source, origin, tailBytes: source.size });
    const replies = collectReplies(fold.path.entries);
    if (replies.length > 0) return { kind: "responder", responder: replayResponder({ replies }) };
    return failure({
      code: exitCode.notFound,
      message: `${name} holds no reply of a model`,
      hint: "`palimpsest view` shows what is in it.",
    });
  } finally {
    await log.source.close();
  }
}

/** What answers in the simulator. */
export interface ChosenResponder {
  readonly kind: "responder";
  readonly responder: Responder;
  /** The scenario's, if it names one. */
  readonly seed?: number | undefined;
}
