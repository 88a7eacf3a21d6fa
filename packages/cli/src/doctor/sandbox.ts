import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SandboxSearch } from "palimpsest/internal/ports/sandbox";
import type { SandboxMode } from "palimpsest/internal/schema/settings";
import { findSandbox } from "../tool/sandbox/find-sandbox.ts";
import { sandboxUse } from "../tool/sandbox/sandbox-use.ts";
import type { CommandContext } from "../command.ts";
import { type Check, failed, fine, warning } from "./check.ts";

/** It is tried out, with a folder that is gone afterwards: a look changes nothing. */
export async function withSandbox<Done>(
  { env }: CommandContext,
  use: (found: SandboxSearch) => Promise<Done>,
): Promise<Done> {
  const folder = await mkdtemp(join(tmpdir(), "palimpsest-doctor-"));
  try {
    return await use(await findSandbox({ env, folder }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Which sandbox commands run in, or why in none and what to do about it. */
export function sandboxCheck(mode: SandboxMode, found: SandboxSearch): Check {
  const use = sandboxUse(mode, found);
  switch (use.kind) {
    case "held":
      return fine("sandbox", `${use.sandbox.system}: commands run inside it`);
    case "refused":
      return failed("sandbox", { says: `required, and there is none: ${use.why}`, todo: asSentence(use.remedy) });
    case "unheld":
      return use.because === "off"
        ? warning("sandbox", { says: "turned off: commands may do what you may do", todo: turnOn })
        : warning("sandbox", { says: `none: ${use.why}`, todo: asSentence(use.remedy) });
  }
}

const turnOn = "Take `sandbox` out of your settings and PALIMPSEST_SANDBOX out of the environment.";

const asSentence = (remedy: string): string => `${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}.`;
