import { join } from "node:path";
import { openWorkspace } from "../host/workspace.ts";
import type { SandboxSearchOutcome } from "palimpsest/internal/ports/sandbox";
import { findSandbox } from "../tool/sandbox/find-sandbox.ts";
import type { CommandContext } from "../program/command.ts";

/** The sandbox for commands that this machine has, tried once. Must not reject. */
export const findMachineSandbox = (context: Pick<CommandContext, "env" | "cwd">): Promise<SandboxSearchOutcome> =>
  findSandbox({ env: context.env, folder: join(openWorkspace(context).home, "sandbox") });
