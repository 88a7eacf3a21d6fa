import { adversaryResponder } from "@palimpsest/simulator/internal/responder/adversary-responder";
import { echoResponder } from "@palimpsest/simulator/internal/responder/echo-responder";
import { extractResponder } from "@palimpsest/simulator/internal/responder/extract-responder";
import type { ChosenResponder } from "./load-scripted-responder.ts";
import type { CommandContext } from "../program/command.ts";
import { exitCode, failure, type Failure } from "../program/failure.ts";

export const responderNames = ["echo", "extract", "adversary"] as const;

/** What answers: a scenario, a recorded session, or one of the built-in responders. */
export async function chooseResponder(
  context: CommandContext,
  options: {
    readonly scenario: string | undefined;
    readonly replay: string | undefined;
    readonly responder: string | undefined;
  },
): Promise<ChosenResponder | Failure> {
  const given = [options.scenario, options.replay, options.responder].filter((option) => option !== undefined);
  if (given.length > 1)
    return failure({
      code: exitCode.usage,
      message: "only one can answer",
      hint: "Give one of --scenario, --replay and --responder.",
    });
  if (options.scenario !== undefined)
    return (await import("./load-scripted-responder.ts")).loadScriptedResponder(context, options.scenario);
  if (options.replay !== undefined)
    return (await import("./load-scripted-responder.ts")).loadReplayResponder(context, options.replay);
  switch (options.responder) {
    case undefined:
    case "echo":
      return { kind: "responder", responder: echoResponder };
    case "extract":
      return { kind: "responder", responder: extractResponder };
    case "adversary":
      return { kind: "responder", responder: adversaryResponder() };
    default:
      return failure({
        code: exitCode.usage,
        message: `there is no responder called ${options.responder}`,
        hint: `Actors: ${responderNames.join(", ")}; --scenario and --replay bring their own.`,
      });
  }
}
