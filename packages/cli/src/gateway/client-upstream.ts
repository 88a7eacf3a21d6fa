import { isAbsolute, join } from "node:path";
import { isGatewayAddress } from "@palimpsest/gateway/internal/operate/config-problem";
import { readConfig } from "@palimpsest/gateway/internal/operate/gateway-config";
import { hashKey } from "@palimpsest/gateway/internal/operate/users";
import { parseUpstreamUrl } from "@palimpsest/gateway/internal/upstream/upstream-url";
import { settingsBytesMax } from "./limits.ts";
import { readSmallFile } from "palimpsest/internal/store/files/disk";
import { isObject, textField, tryParseJson } from "palimpsest/internal/schema/json";
import { z } from "zod";
import { exitCode, failure, type Failure } from "../program/failure.ts";
import { askGateway, type FoundGateway } from "../host/gateway/gateway-place.ts";

/** Where a client would send its requests without the gateway, if the user has set that. */
export interface ClientUpstream {
  readonly api: "anthropic" | "openai";
  readonly url: string;
  /** Where it is set. */
  readonly source: string;
}

interface ClaudePlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The project's root. */
  readonly project: string;
}

export interface ClientUpstreamInput extends ClaudePlace {
  readonly client: string;
  /** The gateway's config file: a base URL that leads to the gateway itself does not count. */
  readonly configPath: string;
}

/** Whether the base URL was set by `palimpsest run`: it leads to a gateway, whatever its address, and names a folder. */
function namesProject(url: string): boolean {
  const [, encoded] = /\/project\/(?<folder>[\w-]+)(?:\/|$)/.exec(url) ?? [];
  return encoded !== undefined && isAbsolute(Buffer.from(encoded, "base64url").toString("utf8"));
}

export interface ClientUpstreams {
  readonly wanted: readonly ClientUpstream[];
  /** APIs of the client for which the user has set no base URL. */
  readonly unset: readonly UnsetUpstream[];
  /** Values of `--upstream` for a gateway that is started for the client; none if its config is right as it is. */
  readonly flags: readonly string[];
}

interface UnsetUpstream {
  readonly api: ClientUpstream["api"];
  /** The variable that would set it. */
  readonly variable: string;
  /** Where the client's key may be sent: the provider's own address, or what the operator has written in the config. */
  readonly allowed: readonly string[];
}

const clientApis = (client: string): readonly ClientUpstream["api"][] =>
  client === "claude" ? ["anthropic"] : client === "codex" ? ["openai"] : ["anthropic", "openai"];

export async function findClientUpstreams(input: ClientUpstreamInput): Promise<ClientUpstreams> {
  const { client, env, configPath } = input;
  const own = readConfig({ path: configPath, env });
  const defaults = readConfig({ env });
  if (defaults.kind !== "config") throw new Error(`the defaults are no valid config: ${defaults.message}`);
  // If the config is invalid, the gateway reports that when it starts.
  const { config } = own.kind === "config" ? own : defaults;
  const [anthropic, openai] = [env["ANTHROPIC_BASE_URL"] ?? "", env["OPENAI_BASE_URL"] ?? ""];
  const settings = client === "claude" ? await readClaudeUrl(input) : undefined;
  const found: readonly ClientUpstream[] = [
    settings ?? { api: "anthropic", url: anthropic, source: "ANTHROPIC_BASE_URL" },
    { api: "openai", url: openai, source: "OPENAI_BASE_URL" },
  ];
  const wanted = found.filter(({ url }) => url !== "" && !namesProject(url) && !isGatewayAddress(config, url));
  const urlByApi = { ...config.upstream, ...Object.fromEntries(wanted.map(({ api, url }) => [api, url])) };
  const unset = found.flatMap(({ api, url }) => {
    if (url !== "" || !clientApis(client).includes(api)) return [];
    const addresses = [defaults.config.upstream[api], config.upstream[api]];
    const variable = api === "anthropic" ? "ANTHROPIC_BASE_URL" : "OPENAI_BASE_URL";
    return [{ api, variable, allowed: addresses.filter((address) => address !== undefined) }];
  });
  return {
    wanted,
    unset,
    flags:
      wanted.length === 0
        ? []
        : Object.entries(urlByApi).flatMap(([api, url]) => (url === undefined ? [] : [`${api}=${url}`])),
  };
}

/** A gateway with users answers a client without one of their keys only with 401. Undefined if the client has a key. */
export function checkUserKey({ client, env, configPath }: Omit<ClientUpstreamInput, "project">): Failure | undefined {
  const read = readConfig({ path: configPath, env });
  const users = read.kind === "config" ? read.config.users : [];
  if (users.length === 0) return undefined;
  const names = [
    ...(client === "codex" ? [] : ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"]),
    ...(client === "claude" ? [] : ["OPENAI_API_KEY"]),
  ];
  const [, header] = /x-palimpsest-key: *(\S+)/i.exec(env["ANTHROPIC_CUSTOM_HEADERS"] ?? "") ?? [];
  const hashes = new Set([header, ...names.map((name) => env[name])].map((key) => hashKey(key ?? "")));
  if (users.some(({ keySha256 }) => hashes.has(keySha256))) return undefined;
  return failure({
    code: exitCode.refused,
    message: `the gateway has users (${configPath}), and ${client} has no key of one of them`,
    hint: `Set ${names.join(" or ")} to a key of \`palimpsest gateway key\`${client === "claude" ? ", or add it to ANTHROPIC_CUSTOM_HEADERS: `x-palimpsest-key: …`" : ""}.`,
  });
}

/** In Claude Code's order: the project's local settings win, and every file wins over the variable. */
export const claudeSettingsFiles = ({ env, project }: ClaudePlace): readonly string[] =>
  [join(project, ".claude"), env["CLAUDE_CONFIG_DIR"] || join(env["HOME"] ?? "", ".claude")].flatMap((folder) =>
    ["settings.local.json", "settings.json"].map((name) => join(folder, name)),
  );

async function readClaudeUrl(input: ClientUpstreamInput): Promise<ClientUpstream | undefined> {
  for (const source of claudeSettingsFiles(input)) {
    const settings = tryParseJson((await readSmallFile(source, settingsBytesMax)) ?? "");
    const env = isObject(settings) ? settings["env"] : undefined;
    const url = isObject(env) ? textField(env, "ANTHROPIC_BASE_URL") : undefined;
    if (url !== undefined && url !== "") return { api: "anthropic", url, source };
  }
  return undefined;
}

/** The gateway's upstream must be the client's: a key for one server must not be sent to another. */
export async function checkUpstreams(
  gateway: FoundGateway,
  { wanted, unset }: Pick<ClientUpstreams, "wanted" | "unset">,
): Promise<Failure | undefined> {
  const answer = await askGateway({ ...gateway, path: "/palimpsest/status.json" });
  const status = statusForm.safeParse(answer?.value).data;
  if (status === undefined)
    return failure({ code: exitCode.machine, message: `the gateway at ${gateway.url} returned no status` });
  const { upstream } = status;
  for (const { api, variable, allowed } of unset) {
    const address = upstream.find((one) => one.api === api)?.address;
    // Without an upstream for this API, the gateway sends the key nowhere.
    if (address === undefined || allowed.some((url) => isSameUpstream(address, url))) continue;
    return failure({
      code: exitCode.refused,
      message: `${variable} is not set, so the client's key is for ${allowed.at(-1) ?? api}, but the gateway at ${gateway.url} sends requests to ${address}`,
      hint: `Stop the gateway (\`palimpsest gateway stop\`), so that one with the right upstream is started. If ${address} is what you want, set ${variable} to it, or name it in gateway.json (\`upstream\`).`,
    });
  }
  for (const { api, url, source } of wanted) {
    const address = upstream.find((one) => one.api === api)?.address;
    if (address !== undefined && isSameUpstream(address, url)) continue;
    return failure({
      code: exitCode.refused,
      message: `${source} has ${url}, but the gateway at ${gateway.url} sends requests to ${address ?? `no ${api} API`}`,
      hint: `Stop the gateway (\`palimpsest gateway stop\`), so that one with this upstream is started; or unset ${source}.`,
    });
  }
  return undefined;
}

const statusForm = z.object({ upstream: z.array(z.object({ api: z.string(), address: z.string() })) });

function isSameUpstream(one: string, other: string): boolean {
  const [first, second] = [parseUpstreamUrl(one), parseUpstreamUrl(other)];
  return (
    first.kind === "url" && second.kind === "url" && first.origin === second.origin && first.prefix === second.prefix
  );
}
