import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { homeFolder } from "palimpsest/internal/store/files/project";
import type { CommandContext, Outcome } from "../program/command.ts";
import { exitCode, failure } from "../program/failure.ts";
import { findGateway } from "./gateway-place.ts";

/** Asks the gateway to end, and waits until it has. */
export async function stopGateway({ env, out }: CommandContext): Promise<Outcome> {
  const home = homeFolder(env);
  const found = await findGateway(home);
  if (found.kind !== "running")
    return failure({
      code: found.kind === "absent" ? exitCode.notFound : exitCode.refused,
      message: found.message,
    });
  process.kill(found.pid, "SIGTERM");
  while ((await findGateway(home)).kind !== "absent") await wait(lookMs);
  await out.write(`The gateway at ${found.url} has ended.\n`);
  return exitCode.fine;
}

const lookMs = 50;
