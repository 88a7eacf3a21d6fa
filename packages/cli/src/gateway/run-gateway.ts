import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { type GatewayOutcome, openGateway } from "@palimpsest/gateway";
import { tuneHeap } from "@palimpsest/gateway/internal/body/body-memory";
import { openEventLog } from "@palimpsest/gateway/internal/operate/event-log";
import { followConfig } from "@palimpsest/gateway/internal/operate/follow-config";
import {
  type ConfigInput,
  type ConfigOutcome,
  type GatewayConfig,
  readConfig,
} from "@palimpsest/gateway/internal/operate/gateway-config";
import type { GatewayEvent, GatewayListener } from "@palimpsest/gateway/internal/operate/gateway-event";
import { SpendLedger } from "@palimpsest/gateway/internal/operate/spend-ledger";
import { isPlainText, parseUpstreamUrl } from "@palimpsest/gateway/internal/upstream/upstream-url";
import { homeFolder } from "palimpsest/internal/store/files/project";
import type { CommandContext, Outcome } from "../program/command.ts";
import { exitCode, failure, type Failure, usageError } from "../program/failure.ts";
import { quantity } from "../text/format.ts";
import { readOwnVersion } from "../program/read-own-version.ts";
import { portInUse } from "../simulate/parse-cassette-options.ts";
import { gatewayFolder, type GatewayHold, holdPlace, openSecret } from "../host/gateway/gateway-place.ts";

export interface GatewayFlags {
  readonly upstream: readonly string[];
  readonly port?: string | undefined;
  readonly host?: string | undefined;
  readonly config?: string | undefined;
  readonly insecure: boolean;
}

/** Runs the gateway in the foreground until it is told to stop and the running replies have ended. */
export async function runGateway(context: CommandContext, flags: GatewayFlags): Promise<Outcome> {
  const home = homeFolder(context.env);
  const input = configInput(context, flags);
  if (input.kind === "failure") return input;
  const readAgain = configReader(input.input);
  const read = readAgain();
  if (read.kind !== "config")
    return failure({
      code: read.kind === "absent" ? exitCode.notFound : exitCode.refused,
      message: read.message,
      hint: "docs/gateway.md has the config's fields.",
    });
  const secret = await openSecret(home);
  if (secret.kind === "unsafe")
    return failure({
      code: exitCode.refused,
      message: secret.message,
      hint: `Correct it, or delete ${gatewayFolder(home)}.`,
    });
  const place = await holdPlace(home);
  if (place.kind === "failed") return failure({ code: exitCode.machine, message: place.message });
  if (place.kind === "taken")
    return failure({
      code: exitCode.busy,
      message: place.message,
      hint: "Use that one, or stop it with `palimpsest gateway stop`.",
    });
  try {
    return await serveUntilStopped(context, {
      home,
      config: read.config,
      configPath: input.input.path,
      readAgain,
      secret: secret.secret,
      place,
    });
  } finally {
    await place.release();
  }
}

interface GatewayRun {
  readonly home: string;
  readonly config: GatewayConfig;
  readonly configPath: string | undefined;
  readonly readAgain: () => ConfigOutcome;
  readonly secret: string;
  readonly place: GatewayHold;
}

async function serveUntilStopped(
  context: CommandContext,
  { home, config, configPath, readAgain, secret, place }: GatewayRun,
): Promise<Outcome> {
  tuneHeap();
  const { out, err } = context;
  const say = (line: string): void => void err.write(`${line}\n`);
  const spend = await SpendLedger.open({
    folder: gatewayFolder(home),
    now: Date.now,
    onError: (error) => say(`Can't write spend.json: ${error instanceof Error ? error.message : String(error)}`),
  });
  const log =
    config.log === undefined
      ? undefined
      : openEventLog({
          path: config.log,
          now: Date.now,
          onError: ({ message }) => say(`Event logging stopped: ${message}`),
        });
  const listeners = [(event: GatewayEvent) => announce(event, say), log?.onEvent, await openRecorder()];
  const onEvent = (event: GatewayEvent): void => {
    for (const listen of listeners) listen?.(event);
  };
  const gateway = await openGateway({
    config,
    home,
    cwd: context.cwd,
    secret,
    spend,
    version: readOwnVersion(),
    onEvent,
  });
  if (gateway.kind === "failed") return describeFailure(gateway, config);
  // Start watching before announcing the address, so that no config change is missed.
  const follower = followConfig({
    path: configPath,
    read: readAgain,
    apply: (next) => gateway.reload(next),
    onEvent,
  });
  try {
    await place.announce(gateway.url);
    await out.write(`${gateway.url}\n`);
    const { protocol, port } = new URL(gateway.url);
    for (const name of config.names) say(`From other machines: ${protocol}//${name}:${port}`);
    // Without the key: this line ends up in logs.
    say(`Status: ${gateway.url}/palimpsest/status (\`palimpsest gateway status\` prints the link with its key)`);
    say("Stop with Ctrl-C.");
    for (const address of Object.values(config.upstream))
      if (address !== undefined && isPlainText(address))
        say(`Warning: ${address} has no TLS, so API keys are sent unencrypted.`);
    await untilAsked(() => follower.reload());
  } finally {
    follower.close();
    await gateway.close();
    await spend.close();
    await log?.close();
  }
  return exitCode.fine;
}

/** Picks up a config file created later. If the file is deleted, the config stays: users and keys must not vanish with it. */
function configReader(input: ConfigInput): () => ConfigOutcome {
  let wasThere = false;
  return () => {
    wasThere ||= input.path !== undefined && existsSync(input.path);
    return readConfig(wasThere ? { ...input, ifMissing: "refuse" } : input);
  };
}

/** The user's file is `gateway.json` in the home; it need not be there. */
function configInput(
  { env, cwd }: CommandContext,
  flags: GatewayFlags,
): { readonly kind: "input"; readonly input: ConfigInput } | Failure {
  const upstream = parseUpstreams(flags.upstream);
  if (upstream.kind === "failure") return upstream;
  const port = flags.port === undefined ? undefined : Number(flags.port);
  if (flags.port !== undefined && (!/^\d+$/.test(flags.port) || Number(port) > 65_535))
    return usageError(`${flags.port} is not a port number`, "Use a number from 0 to 65535; 0 picks any free port.");
  const file: Pick<ConfigInput, "path" | "ifMissing"> =
    flags.config === undefined
      ? { path: join(homeFolder(env), "gateway.json"), ifMissing: "defaults" }
      : { path: resolve(cwd, flags.config) };
  const overrides = {
    upstream: upstream.urls,
    host: flags.host,
    port,
    insecure: flags.insecure ? true : undefined,
  };
  return { kind: "input", input: { ...file, env, overrides } };
}

/** `<url>` is for both APIs, `anthropic=<url>` and `openai=<url>` for one. */
function parseUpstreams(
  written: readonly string[],
): { readonly kind: "urls"; readonly urls: GatewayConfig["upstream"] | undefined } | Failure {
  const urls: { anthropic?: string; openai?: string } = {};
  for (const text of written) {
    const [, api, address = text] = /^(anthropic|openai)=(.*)$/.exec(text) ?? [];
    const url = parseUpstreamUrl(address);
    if (url.kind === "wrong")
      return usageError(url.message, "For example --upstream anthropic=https://api.anthropic.com");
    if (api !== "openai") urls.anthropic = address;
    if (api !== "anthropic") urls.openai = address;
  }
  return { kind: "urls", urls: written.length === 0 ? undefined : urls };
}

function announce(event: GatewayEvent, say: (line: string) => void): void {
  switch (event.kind) {
    case "config-loaded": {
      const { changed, afterRestart } = event;
      const later = afterRestart.length === 0 ? "" : ` Restart the gateway to apply: ${afterRestart.join(", ")}.`;
      return say(`Config reloaded: ${changed.join(", ") || "nothing"} changed.${later}`);
    }
    case "config-refused":
      return say(`The new config was rejected, the old one stays in effect: ${event.message}`);
    case "drain-start":
      return event.running === 0
        ? undefined
        : say(`Waiting for ${quantity(event.running, "running request")} to finish. Press Ctrl-C again to stop now.`);
    case "failed-open":
      return say(
        `Forwarded a request from ${event.user} unchanged: the gateway failed in step ${event.step} (${event.message}).`,
      );
    case "bug":
      return say(`Internal error: ${event.message}`);
    case "listening":
    case "request-start":
    case "request-end":
    case "refused":
    case "malformed":
    case "upstream":
    case "reply-cost":
    case "drain-end":
      return undefined;
  }
}

/** OpenTelemetry SDKs register themselves under this name. If none has, nothing is loaded. */
const sdkName = Symbol.for("opentelemetry.js.api.1");

async function openRecorder(): Promise<GatewayListener | undefined> {
  if (!(sdkName in globalThis)) return undefined;
  const { recordSpans } = await import("@palimpsest/gateway/internal/operate/record-spans");
  return recordSpans();
}

/** SIGHUP reloads. SIGINT or SIGTERM stops; a second one kills the process, because nothing handles it any more. */
function untilAsked(reload: () => void): Promise<void> {
  return new Promise((settle) => {
    const stop = (): void => {
      process.off("SIGINT", stop).off("SIGTERM", stop).off("SIGHUP", reload);
      settle();
    };
    process.on("SIGINT", stop).on("SIGTERM", stop).on("SIGHUP", reload);
  });
}

const describeFailure = (
  { code, message }: Extract<GatewayOutcome, { kind: "failed" }>,
  { port }: GatewayConfig,
): Failure =>
  code === "EADDRINUSE"
    ? portInUse(port)
    : failure({
        code: exitCode.machine,
        message,
        ...(code.startsWith("EADDR") || (code === "EACCES" && port < 1_024)
          ? { hint: "Choose another address or port." }
          : {}),
      });
