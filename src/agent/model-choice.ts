import { randomUUID } from "node:crypto";
import { anthropicModel } from "../model/anthropic/client.ts";
import { openaiModel } from "../model/openai/client.ts";
import type { ClockDep } from "../ports/clock.ts";
import type { ModelPort } from "../ports/model.ts";
import type { Actor } from "../simulator/actor/actor.ts";
import { realClock } from "../simulator/clock.ts";
import { simulatorFetch } from "../simulator/http/fetch.ts";
import { Simulator } from "../simulator/simulator.ts";

/** Who answers: a provider, a simulator in this process, or nobody. */
export type ModelChoice =
  | { readonly kind: "provider"; readonly baseUrl?: string | undefined }
  | { readonly kind: "simulator"; readonly actor: Actor; readonly seed: number }
  /** Nobody: every request fails with this message. For what goes without a model too. */
  | { readonly kind: "none"; readonly message: string };

export type ModelPicked =
  | { readonly kind: "model"; readonly model: ModelPort }
  /** `message`: what is missing, and what to do about it. */
  | { readonly kind: "no-key"; readonly message: string };

export interface PickInput extends ClockDep {
  readonly choice: ModelChoice;
  /** Its id. */
  readonly name: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function pickModel({ choice, name, env, now }: PickInput): ModelPicked {
  if (choice.kind === "simulator") {
    const { actor, seed } = choice;
    const simulator = new Simulator({ actor, seed, clock: realClock() });
    return { kind: "model", model: anthropicModel({ apiKey: "simulator", fetch: simulatorFetch(simulator), now }) };
  }
  if (choice.kind === "none")
    return { kind: "model", model: absentModel(choice.message, isOpenai(name, env) ? "openai" : "anthropic") };
  return isOpenai(name, env) ? openai({ choice, name, env, now }) : anthropic({ choice, name, env, now });
}

function absentModel(message: string, provider: string): ModelPort {
  return {
    provider,
    async *send() {
      yield { kind: "failure", failure: { why: "unauthorised", message, retry: "never" } };
    },
    describe: async () => undefined,
  };
}

/** Claude is spoken to in its own form, whoever serves it; anything else in the form that everybody else understands. */
const isOpenai = (name: string, env: PickInput["env"]): boolean =>
  !/claude/i.test(name) && env["ANTHROPIC_BASE_URL"] === undefined;

function anthropic({ choice, env, now }: PickInput): ModelPicked {
  const asked = choice.kind === "provider" ? choice.baseUrl : undefined;
  const baseUrl = asked ?? env["ANTHROPIC_BASE_URL"];
  const to = baseUrl === undefined ? {} : { baseUrl };
  const apiKey = env["ANTHROPIC_API_KEY"];
  const authToken = env["ANTHROPIC_AUTH_TOKEN"];
  if (apiKey !== undefined && apiKey !== "") return { kind: "model", model: anthropicModel({ apiKey, now, ...to }) };
  if (authToken !== undefined && authToken !== "")
    return { kind: "model", model: anthropicModel({ authToken, now, ...to }) };
  return {
    kind: "no-key",
    message: "Set ANTHROPIC_API_KEY (any value for a server of your own), or use --model simulator to try it without.",
  };
}

function openai({ choice, env, now }: PickInput): ModelPicked {
  const asked = choice.kind === "provider" ? choice.baseUrl : undefined;
  const baseUrl = asked ?? env["OPENAI_BASE_URL"];
  const apiKey = env["OPENAI_API_KEY"] ?? (baseUrl === undefined ? undefined : "none");
  if (apiKey === undefined)
    return { kind: "no-key", message: "Set OPENAI_API_KEY or --base-url, or use --model simulator to try it without." };
  const to = baseUrl === undefined ? {} : { baseUrl };
  return { kind: "model", model: openaiModel({ apiKey, now, uuid: randomUUID, ...to }) };
}
