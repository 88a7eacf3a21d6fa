import { randomUUID } from "node:crypto";
import type { AnthropicOptions } from "palimpsest/internal/model/anthropic/client";
import { modelOnDemand } from "palimpsest/internal/model/model-on-demand";
import type { OpenaiOptions } from "palimpsest/internal/model/openai/client";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { ModelPort } from "palimpsest/internal/ports/model-port";
import { type ServerChoice, serverName, serverUrl, usesOpenaiApi } from "../../settings/project-settings.ts";
import type { Responder } from "@palimpsest/simulator/internal/responder/responder";

/** What answers: a provider, a simulator in this process, or nothing. */
export type ModelChoice =
  | Extract<ServerChoice, { kind: "provider" }>
  | { readonly kind: "simulator"; readonly responder: Responder; readonly seed: number }
  /**
   * No model: every request fails with this message. For operations that also work without one. `baseUrl`: the server
   * that would be asked otherwise; the model sizes that it declared count.
   */
  | { readonly kind: "none"; readonly message: string; readonly baseUrl?: string | undefined };

/** The server whose declared model sizes count. */
export const serverChoice = (choice: ModelChoice): ServerChoice =>
  choice.kind === "simulator" ? { kind: "in-process" } : { kind: "provider", baseUrl: choice.baseUrl };

export type PickModelOutcome =
  | {
      readonly kind: "model";
      readonly model: ModelPort;
      /** The address under which answers about its models are remembered. Undefined: its answers are not remembered. */
      readonly server?: string;
    }
  /** `message`: what is missing, and what to do about it. */
  | { readonly kind: "no-key"; readonly message: string };

interface PickModelInput extends ClockDep {
  readonly choice: ModelChoice;
  /** The model's id. */
  readonly name: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function pickModel({ choice, name, env, now }: PickModelInput): PickModelOutcome {
  if (choice.kind === "simulator") return pickSimulator({ ...choice, now });
  const provider = usesOpenaiApi(name, env) ? "openai" : "anthropic";
  const target = { model: name, env, baseUrl: choice.baseUrl };
  const server = serverName(target);
  if (choice.kind === "none") return { kind: "model", model: unavailableModel(choice.message, provider), server };
  const input = { env, now, baseUrl: serverUrl(target), server };
  return provider === "openai" ? pickOpenai(input) : pickAnthropic(input);
}

interface SimulatorInput extends ClockDep {
  readonly responder: Responder;
  readonly seed: number;
}

function pickSimulator({ responder, seed, now }: SimulatorInput): PickModelOutcome {
  const load = async (): Promise<ModelPort> => {
    const { createSimulatedFetch } = await import("@palimpsest/simulator/internal/http/simulator-fetch");
    const { anthropicModel } = await import("palimpsest/internal/model/anthropic/client");
    return anthropicModel({ apiKey: "simulator", fetch: createSimulatedFetch({ responder, seed }), now });
  };
  return { kind: "model", model: modelOnDemand({ provider: "anthropic", load }) };
}

function unavailableModel(message: string, provider: string): ModelPort {
  return {
    provider,
    async *send() {
      yield { kind: "failure", failure: { why: "unauthorised", message, retry: "never" } };
    },
    describe: async () => undefined,
  };
}

interface ProviderInput extends ClockDep {
  readonly env: PickModelInput["env"];
  readonly baseUrl: string | undefined;
  readonly server: string;
}

function pickAnthropic({ env, now, baseUrl, server }: ProviderInput): PickModelOutcome {
  const address = baseUrl === undefined ? {} : { baseUrl };
  const apiKey = env["ANTHROPIC_API_KEY"];
  const authToken = env["ANTHROPIC_AUTH_TOKEN"];
  if (apiKey !== undefined && apiKey !== "") return { ...loadAnthropic({ apiKey, now, ...address }), server };
  if (authToken !== undefined && authToken !== "") return { ...loadAnthropic({ authToken, now, ...address }), server };
  return {
    kind: "no-key",
    message: "Set ANTHROPIC_API_KEY (a server of your own: any value), or --model simulator.",
  };
}

function pickOpenai({ env, now, baseUrl, server }: ProviderInput): PickModelOutcome {
  const apiKey = env["OPENAI_API_KEY"] ?? "";
  if (apiKey === "" && baseUrl === undefined)
    return { kind: "no-key", message: "Set OPENAI_API_KEY or --base-url, or use --model simulator to try it without." };
  const address = baseUrl === undefined ? {} : { baseUrl };
  // A server of the user's own may need no key, but the client does.
  return { ...loadOpenai({ apiKey: apiKey === "" ? "none" : apiKey, now, uuid: randomUUID, ...address }), server };
}

function loadAnthropic(options: AnthropicOptions): Extract<PickModelOutcome, { kind: "model" }> {
  const load = async (): Promise<ModelPort> =>
    (await import("palimpsest/internal/model/anthropic/client")).anthropicModel(options);
  return { kind: "model", model: modelOnDemand({ provider: "anthropic", load }) };
}

function loadOpenai(options: OpenaiOptions): Extract<PickModelOutcome, { kind: "model" }> {
  const load = async (): Promise<ModelPort> =>
    (await import("palimpsest/internal/model/openai/client")).openaiModel(options);
  return { kind: "model", model: modelOnDemand({ provider: "openai", load }) };
}
