import { adversaryActor } from "@palimpsest/simulator/internal/actor/adversary";
import { echoActor } from "@palimpsest/simulator/internal/actor/echo";
import { extractActor } from "@palimpsest/simulator/internal/actor/extract";
import type { Chosen } from "./chosen-actor.ts";
import type { CommandContext } from "./command.ts";
import { exitCode } from "./exit-code.ts";
import { failure, type Failure } from "./failure.ts";

export const actorNames = ["echo", "extract", "adversary"] as const;

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
  if (asked.scenario !== undefined) return (await import("./scripted-actor.ts")).scripted(context, asked.scenario);
  if (asked.replay !== undefined) return (await import("./replayed-actor.ts")).replayed(context, asked.replay);
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
