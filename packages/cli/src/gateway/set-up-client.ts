import { join } from "node:path";
import { projectPrefix } from "@palimpsest/gateway/internal/http/route";
import { makeFolder, readSmallFile, replaceFile } from "palimpsest/internal/store/files/disk";
import { settingsBytesMax } from "./limits.ts";
import { isObject, type JsonObject, tryParseJson } from "palimpsest/internal/schema/json";
import { exitCode, failure, type Failure } from "../program/failure.ts";
import { claudeSettingsFiles } from "./client-upstream.ts";
import { gatewayFolder } from "../host/gateway/gateway-place.ts";
import type { ClientProcess } from "./run-client.ts";

export const clientNames = ["claude", "opencode", "codex", "pi"] as const;
export type ClientName = (typeof clientNames)[number];

export const isClientName = (name: string): name is ClientName => clientNames.some((known) => known === name);

export interface ClientInput {
  readonly client: ClientName;
  /** The user's own arguments for it. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** Of the gateway. */
  readonly url: string;
  /** The project's root. */
  readonly project: string;
}

type SetupOutcome = ({ readonly kind: "client"; readonly notices: readonly string[] } & ClientProcess) | Failure;

/** Sets a client's base URL for one process, without changing its files. */
export async function setUpClient(input: ClientInput): Promise<SetupOutcome> {
  const base = `${input.url}${projectPrefix(input.project)}`;
  switch (input.client) {
    case "claude":
      return await setUpClaude(input, base);
    case "opencode":
      return setUpOpencode(input, base);
    case "codex":
      return setUpCodex(input, base);
    case "pi":
      return await setUpPi(input, base);
  }
}

/** A base URL in Claude Code's settings wins over a variable, and settings of the command line win over both. */
async function setUpClaude({ args, env, project }: ClientInput, base: string): Promise<SetupOutcome> {
  const other = ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"].find(
    (name) => env[name] !== undefined && env[name] !== "" && env[name] !== "0",
  );
  if (other !== undefined)
    return failure({
      code: exitCode.refused,
      message: `with ${other} set, Claude Code does not call the Anthropic API directly`,
      hint: `Unset ${other} to use the gateway.`,
    });
  const own = { ANTHROPIC_BASE_URL: base };
  const files = claudeSettingsFiles({ env, project });
  const texts = await Promise.all(files.map((file) => readSmallFile(file, settingsBytesMax)));
  const isSet = texts.some((text) => text?.includes("ANTHROPIC_BASE_URL") === true);
  const settings = isSet ? ["--settings", JSON.stringify({ env: own })] : [];
  return { kind: "client", program: "claude", args: [...settings, ...args], env: own, notices: [] };
}

/** opencode reads this variable after all files, and merges it with them. */
function setUpOpencode({ args, env }: ClientInput, base: string): SetupOutcome {
  const written = env["OPENCODE_CONFIG_CONTENT"] ?? "";
  const given = written === "" ? {} : tryParseJson(written);
  if (!isObject(given))
    return failure({
      code: exitCode.refused,
      message: "OPENCODE_CONFIG_CONTENT is not a JSON object, so the base URL can't be added to it",
      hint: "Correct it or unset it.",
    });
  const options = { options: { baseURL: `${base}/v1` } };
  const config = mergeObjects(given, { provider: { anthropic: options, openai: options } });
  return {
    kind: "client",
    program: "opencode",
    args,
    env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(config) },
    notices: ["Providers other than anthropic and openai do not go through the gateway."],
  };
}

/** Adds a provider by options placed before the user's, so that the user's win. */
function setUpCodex({ args, env }: ClientInput, base: string): SetupOutcome {
  const key = env["OPENAI_API_KEY"];
  const credentials = key ? 'env_key="OPENAI_API_KEY"' : "requires_openai_auth=true";
  const provider = `{name="palimpsest",base_url=${JSON.stringify(`${base}/v1`)},wire_api="responses",${credentials}}`;
  return {
    kind: "client",
    program: "codex",
    args: ["-c", `model_providers.palimpsest=${provider}`, "-c", 'model_provider="palimpsest"', ...args],
    env: {},
    notices: key
      ? []
      : [
          "OPENAI_API_KEY is not set, so codex uses its stored key. A ChatGPT login uses another API and does not work through the gateway.",
        ],
  };
}

/** pi has no variable for its base URL, but loads an extension named on its command line. */
async function setUpPi({ args, home }: ClientInput, base: string): Promise<SetupOutcome> {
  const folder = gatewayFolder(home);
  const path = join(folder, "pi-extension.js");
  await makeFolder(folder);
  await replaceFile({ path, data: Buffer.from(piExtension), sync: "unsynced" });
  return {
    kind: "client",
    program: "pi",
    args: ["--extension", path, ...args],
    env: { PALIMPSEST_GATEWAY_URL: base },
    notices: ["Providers other than anthropic and openai do not go through the gateway."],
  };
}

const piExtension = `export default function (pi) {
  const base = process.env.PALIMPSEST_GATEWAY_URL;
  if (!base) return;
  pi.registerProvider("anthropic", { baseUrl: base });
  pi.registerProvider("openai", { baseUrl: base + "/v1" });
}
`;

function mergeObjects(one: JsonObject, other: JsonObject): JsonObject {
  const added = Object.entries(other).map(([key, value]) => {
    const own = one[key];
    return [key, isObject(own) && isObject(value) ? mergeObjects(own, value) : value] as const;
  });
  return { ...one, ...Object.fromEntries(added) };
}
