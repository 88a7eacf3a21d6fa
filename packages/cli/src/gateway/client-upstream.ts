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
  /** Values of `--upstream` for a gateway that is started for the client; none if its config is right as it is. */
  readonly flags: readonly string[];
}

export async function findClientUpstreams(input: ClientUpstreamInput): Promise<ClientUpstreams> {
  const { client, env, configPath } = input;
  const own = readConfig({ path: configPath, env });
  const read = own.kind === "config" ? own : readConfig({ env });
  // If the config is invalid, the gateway reports that when it starts.
  if (read.kind !== "config") return { wanted: [], flags: [] };
  const { config } = read;
  const [anthropic, openai] = [env["ANTHROPIC_BASE_URL"] ?? "", env["OPENAI_BASE_URL"] ?? ""];
  const settings = client === "claude" ? await readClaudeUrl(input) : undefined;
  const found: readonly ClientUpstream[] = [
    settings ?? { api: "anthropic", url: anthropic, source: "ANTHROPIC_BASE_URL" },
    { api: "openai", url: openai, source: "OPENAI_BASE_URL" },
  ];
  const wanted = found.filter(({ url }) => url !== "" && !namesProject(url) && !isGatewayAddress(config, url));
  const urlByApi = { ...config.upstream, ...Object.fromEntries(wanted.map(({ api, url }) => [api, url])) };
  return {
    wanted,
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
  wanted: readonly ClientUpstream[],
): Promise<Failure | undefined> {
  if (wanted.length === 0) return undefined;
  const answer = await askGateway({ ...gateway, path: "/palimpsest/status.json" });
  const upstream = statusForm.safeParse(answer?.value).data?.upstream ?? [];
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
