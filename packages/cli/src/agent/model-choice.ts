import { randomUUID } from "node:crypto";
import type { AnthropicOptions } from "palimpsest/internal/model/anthropic/client";
import { modelOnDemand } from "palimpsest/internal/model/model-on-demand";
import type { OpenaiOptions } from "palimpsest/internal/model/openai/client";
import type { ClockDep } from "palimpsest/internal/ports/clock";
import type { ModelPort } from "palimpsest/internal/ports/model";
import { type ServerChoice, serverName, serverUrl, speaksOpenai } from "../settings/server-address.ts";
import type { Actor } from "@palimpsest/simulator/internal/actor/actor";

/** Who answers: a provider, a simulator in this process, or nobody. */
export type ModelChoice =
  | Extract<ServerChoice, { kind: "provider" }>
  | { readonly kind: "simulator"; readonly actor: Actor; readonly seed: number }
  /**
   * Nobody: every request fails with this message. For what goes without a model too. `baseUrl`: of the server that is
   * asked otherwise, whose sizes of the model count.
   */
  | { readonly kind: "none"; readonly message: string; readonly baseUrl?: string | undefined };

/** Whose words of a model's sizes count. */
export const serverOf = (choice: ModelChoice): ServerChoice =>
  choice.kind === "simulator" ? { kind: "in-process" } : { kind: "provider", baseUrl: choice.baseUrl };

export type ModelPicked =
  | {
      readonly kind: "model";
      readonly model: ModelPort;
      /** Its address, by which is remembered what it says of its models; undefined: it says nothing that lasts. */
      readonly server?: string;
    }
  /** `message`: what is missing, and what to do about it. */
  | { readonly kind: "no-key"; readonly message: string };

export interface PickInput extends ClockDep {
  readonly choice: ModelChoice;
  /** Its id. */
  readonly name: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function pickModel({ choice, name, env, now }: PickInput): ModelPicked {
  if (choice.kind === "simulator") return simulated({ ...choice, now });
  const provider = speaksOpenai(name, env) ? "openai" : "anthropic";
  const addressed = { model: name, env, baseUrl: choice.baseUrl };
  const server = serverName(addressed);
  if (choice.kind === "none") return { kind: "model", model: absentModel(choice.message, provider), server };
  const reached = { env, now, baseUrl: serverUrl(addressed), server };
  return provider === "openai" ? openai(reached) : anthropic(reached);
}

interface Simulated extends ClockDep {
  readonly actor: Actor;
  readonly seed: number;
}

function simulated({ actor, seed, now }: Simulated): ModelPicked {
  const load = async (): Promise<ModelPort> => {
    const { simulatedFetch } = await import("@palimpsest/simulator/internal/http/simulated-fetch");
    const { anthropicModel } = await import("palimpsest/internal/model/anthropic/client");
    return anthropicModel({ apiKey: "simulator", fetch: simulatedFetch({ actor, seed }), now });
  };
  return { kind: "model", model: modelOnDemand({ provider: "anthropic", load }) };
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

interface Reached extends ClockDep {
  readonly env: PickInput["env"];
  readonly baseUrl: string | undefined;
  readonly server: string;
}

function anthropic({ env, now, baseUrl, server }: Reached): ModelPicked {
  const to = baseUrl === undefined ? {} : { baseUrl };
  const apiKey = env["ANTHROPIC_API_KEY"];
  const authToken = env["ANTHROPIC_AUTH_TOKEN"];
  if (apiKey !== undefined && apiKey !== "") return { ...ofAnthropic({ apiKey, now, ...to }), server };
  if (authToken !== undefined && authToken !== "") return { ...ofAnthropic({ authToken, now, ...to }), server };
  return {
    kind: "no-key",
    message: "Set ANTHROPIC_API_KEY (a server of your own: any value), or --model simulator.",
  };
}

function openai({ env, now, baseUrl, server }: Reached): ModelPicked {
  const apiKey = env["OPENAI_API_KEY"] ?? (baseUrl === undefined ? undefined : "none");
  if (apiKey === undefined)
    return { kind: "no-key", message: "Set OPENAI_API_KEY or --base-url, or use --model simulator to try it without." };
  const to = baseUrl === undefined ? {} : { baseUrl };
  return { ...ofOpenai({ apiKey, now, uuid: randomUUID, ...to }), server };
}

function ofAnthropic(options: AnthropicOptions): Extract<ModelPicked, { kind: "model" }> {
  const load = async (): Promise<ModelPort> =>
    (await import("palimpsest/internal/model/anthropic/client")).anthropicModel(options);
  return { kind: "model", model: modelOnDemand({ provider: "anthropic", load }) };
}

function ofOpenai(options: OpenaiOptions): Extract<ModelPicked, { kind: "model" }> {
  const load = async (): Promise<ModelPort> =>
    (await import("palimpsest/internal/model/openai/client")).openaiModel(options);
  return { kind: "model", model: modelOnDemand({ provider: "openai", load }) };
}
