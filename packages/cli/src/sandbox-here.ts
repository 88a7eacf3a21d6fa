import { join } from "node:path";
import { createEngine } from "./host/engine.ts";
import type { SandboxSearch } from "palimpsest/internal/ports/sandbox";
import { findSandbox } from "./tool/sandbox/find-sandbox.ts";
import type { CommandContext } from "./command.ts";

/** What this machine has to hold commands, tried once. Must not reject. */
export const sandboxHere = (context: Pick<CommandContext, "env" | "cwd">): Promise<SandboxSearch> =>
  findSandbox({ env: context.env, folder: join(createEngine(context).home, "sandbox") });
