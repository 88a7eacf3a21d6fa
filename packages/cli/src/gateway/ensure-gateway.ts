import { type ChildProcess, spawn } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { fileMode, makeFolder } from "palimpsest/internal/store/files/disk";
import { goneMs, pollMs, startMsMax } from "./limits.ts";
import type { CommandContext } from "../program/command.ts";
import { exitCode, failure, type Failure, usageError } from "../program/failure.ts";
import { checkUpstreams, type ClientUpstreams } from "./client-upstream.ts";
import { findGateway, type FoundGateway, gatewayFolder } from "../host/gateway/gateway-place.ts";

export interface StartOptions {
  readonly home: string;
  readonly upstream: readonly string[];
  readonly config?: string | undefined;
  /** Where the client would send its requests without the gateway. The gateway must have the same upstream. */
  readonly client: ClientUpstreams;
}

/** Returns the gateway of this home, starting one in the background if none is running. It outlives this process. */
export async function ensureGateway(context: CommandContext, options: StartOptions): Promise<FoundGateway | Failure> {
  const gateway = await findOrStart(context, options);
  if (gateway.kind === "failure" || options.upstream.length > 0) return gateway;
  return (await checkUpstreams(gateway, options.client)) ?? gateway;
}

async function findOrStart(
  context: CommandContext,
  { home, upstream, config, client }: StartOptions,
): Promise<FoundGateway | Failure> {
  const found = await findGateway(home);
  if (found.kind === "running")
    return upstream.length === 0 && config === undefined
      ? found
      : usageError(
          `a gateway is already running at ${found.url}`,
          "Leave out --upstream and --config, or stop it first: `palimpsest gateway stop`.",
        );
  const args = [
    ...(upstream.length === 0 ? client.flags : upstream).map((url) => `--upstream=${url}`),
    ...(config === undefined ? [] : [`--config=${resolve(context.cwd, config)}`]),
  ];
  await makeFolder(gatewayFolder(home));
  const messages = join(gatewayFolder(home), "messages.log");
  // A gateway that exists but doesn't answer may have been started a moment ago by another command.
  const child = found.kind === "absent" ? await startGateway(context, { args, messages }) : undefined;
  let seenAt = Date.now();
  for (const until = seenAt + startMsMax; Date.now() < until; await wait(pollMs)) {
    const started = await findGateway(home);
    if (started.kind === "running") {
      // Another command was faster: the gateway started here must not take over later.
      if (started.pid !== child?.pid) child?.kill();
      return started;
    }
    if (started.kind === "unsafe") return failure({ code: exitCode.refused, message: started.message });
    if (started.kind === "busy" || child?.exitCode === null) seenAt = Date.now();
    // Another gateway may have the lock but not have announced its address yet.
    else if (Date.now() - seenAt > goneMs) break;
  }
  const [message = "", hint] = (await readFile(messages, "utf8").catch(() => "")).trim().split("\n");
  return failure({
    // As if it had been started by hand.
    code: passedCodes.find((code) => code === child?.exitCode) ?? exitCode.machine,
    message: `the gateway did not start: ${message.replace(/^palimpsest: /, "")}`,
    hint: `${hint === undefined ? "" : `${hint.trim()} `}Its messages are in ${messages}.`,
  });
}

const passedCodes = [exitCode.usage, exitCode.notFound, exitCode.busy, exitCode.refused] as const;

async function startGateway(
  { env }: CommandContext,
  { args, messages }: { readonly args: readonly string[]; readonly messages: string },
): Promise<ChildProcess> {
  const launcher = fileURLToPath(new URL("../../bin/palimpsest", import.meta.url));
  const output = await open(messages, "w", fileMode);
  try {
    const child = spawn(process.execPath, [launcher, "gateway", ...args], {
      cwd: "/",
      env,
      detached: true,
      stdio: ["ignore", "ignore", output.fd],
    });
    child.on("error", () => undefined);
    child.unref();
    return child;
  } finally {
    await output.close();
  }
}
