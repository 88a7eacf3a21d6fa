import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { homeFolder } from "palimpsest/internal/store/files/project";
import { pollMs, stopMsMax } from "./limits.ts";
import type { CommandContext, Outcome } from "../program/command.ts";
import { exitCode, failure } from "../program/failure.ts";
import { findGateway, isAlive } from "../host/gateway/gateway-place.ts";

/** Stops the gateway and waits until its process has ended. Another gateway may have been started by then. */
export async function stopGateway({ env, out }: CommandContext): Promise<Outcome> {
  const found = await findGateway(homeFolder(env));
  if (found.kind !== "running")
    return failure({
      code: found.kind === "absent" ? exitCode.notFound : exitCode.refused,
      message: found.message,
    });
  process.kill(found.pid, "SIGTERM");
  for (const until = Date.now() + stopMsMax; await isAlive(found); await wait(pollMs))
    if (Date.now() > until)
      return failure({
        code: exitCode.busy,
        message: `the gateway at ${found.url} (process ${found.pid}) did not stop`,
        hint: `Kill it with \`kill -9 ${found.pid}\`.`,
      });
  await out.write(`The gateway at ${found.url} has stopped.\n`);
  return exitCode.fine;
}
