import { scenarioProblemText } from "@palimpsest/simulator/internal/scenario/problem";
import { readScenario } from "@palimpsest/simulator/internal/scenario/read";
import { scriptActor } from "@palimpsest/simulator/internal/scenario/script";
import type { Chosen } from "./chosen-actor.ts";
import type { CommandContext } from "./command.ts";
import { exitCode } from "./exit-code.ts";
import { failure, type Failure } from "./failure.ts";
import { humanCount, oneLine } from "./human.ts";

/** One that follows a scenario. */
export async function scripted({ err }: CommandContext, file: string): Promise<Chosen | Failure> {
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
