import type { ModelChoice } from "./agent/model-choice.ts";
import { simulatorName } from "./asked-settings.ts";
import type { CommandContext } from "./command.ts";
import { exitCode } from "./exit-code.ts";
import { failure, type Failure } from "./failure.ts";
import type { Options } from "./parse.ts";

/** For every command that reckons with a window: two servers may have the same model with different ones. */
export const serverOption = {
  "base-url": { type: "string", shown: "url", summary: "another server, in the provider's form" },
} as const satisfies Options;

/** Who answers, for every command that asks a model. */
export const modelOptions = {
  ...serverOption,
  scenario: { type: "string", shown: "file", summary: "with --model simulator: what the model says" },
  replay: { type: "string", shown: "session|file", summary: "with --model simulator: answer with a recorded session" },
  actor: { type: "string", shown: "name", summary: "with --model simulator: echo, extract or adversary" },
} as const satisfies Options;

/** In place of the setting's own: the simulator is no model that settings know. */
export const modelOption = {
  model: { type: "string", shown: "model", summary: "who answers: a model's id, or `simulator`" },
} as const satisfies Options;

export type AskedModel = {
  readonly [Name in keyof typeof modelOptions | keyof typeof modelOption]: string | undefined;
};

export async function chosenModel(context: CommandContext, asked: AskedModel): Promise<ModelChoice | Failure> {
  const { scenario, replay, actor } = asked;
  if (asked.model === simulatorName) {
    const { chosenActor } = await import("./simulate-actor.ts");
    const chosen = await chosenActor(context, { scenario, replay, actor });
    return chosen.kind === "failure" ? chosen : { kind: "simulator", actor: chosen.actor, seed: chosen.seed ?? 0 };
  }
  if ([scenario, replay, actor].some((one) => one !== undefined))
    return failure({
      code: exitCode.usage,
      message: "only the simulator follows a script",
      hint: "Add --model simulator.",
    });
  return { kind: "provider", baseUrl: asked["base-url"] };
}
