import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { drainSecondsMax } from "@palimpsest/gateway/internal/operate/limits";
import { homeFolder } from "palimpsest/internal/store/files/project";
import type { CommandContext, Outcome } from "../program/command.ts";
import { exitCode, failure } from "../program/failure.ts";
import { findGateway, isAlive } from "../host/gateway/gateway-place.ts";

/** Asks the gateway to end, and waits until its process has. Another one may have been started by then. */
export async function stopGateway({ env, out }: CommandContext): Promise<Outcome> {
  const found = await findGateway(homeFolder(env));
  if (found.kind !== "running")
    return failure({
      code: found.kind === "absent" ? exitCode.notFound : exitCode.refused,
      message: found.message,
    });
  process.kill(found.pid, "SIGTERM");
  for (const until = Date.now() + endMsMax; await isAlive(found); await wait(lookMs))
    if (Date.now() > until)
      return failure({
        code: exitCode.busy,
        message: `the gateway at ${found.url} (process ${found.pid}) has not ended`,
        hint: `End it with \`kill -9 ${found.pid}\`.`,
      });
  await out.write(`The gateway at ${found.url} has ended.\n`);
  return exitCode.fine;
}

const lookMs = 50;

/** It waits for running replies as long as its config says, and then writes what it knows. */
const endMsMax = drainSecondsMax * 1_000 + 60_000;
