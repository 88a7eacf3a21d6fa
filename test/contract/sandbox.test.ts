import { chmod, mkdtemp, realpath, rm } from "node:fs/promises";
import { spawnSync } from "node:child_process";
import { onTestFinished } from "vitest";
import type { Sandbox } from "../../packages/palimpsest/src/ports/sandbox.ts";
import { findSandbox } from "../../packages/cli/src/tool/sandbox/find-sandbox.ts";
import { needsBubblewrap, noBubblewrap } from "../fixture/sandbox-available.ts";
import { sandboxContract } from "./sandbox.ts";
import { temporaryFolder } from "./temporary-folder.ts";

async function bubblewrapHere(): Promise<Sandbox> {
  const found = await findSandbox({ env: process.env, folder: await openFolder() });
  if (found.kind === "none") throw new Error(`${found.why}: ${found.remedy}`);
  return found.sandbox;
}

/** That another user may enter. */
async function openFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp("/tmp/sandbox-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o755);
  return folder;
}

sandboxContract({
  name: needsBubblewrap("bubblewrap"),
  make: noBubblewrap ? undefined : bubblewrapHere,
  folder: temporaryFolder,
});

const nobody = "65534";
const isRoot = process.getuid?.() === 0;
const canChangeUser = isRoot && spawnSync("setpriv", ["--version"]).status === 0;

sandboxContract({
  name: canChangeUser
    ? needsBubblewrap("bubblewrap, of a user without privileges")
    : "bubblewrap, of a user without privileges (skipped: that is who runs this, or setpriv is missing)",
  make: noBubblewrap || !canChangeUser ? undefined : bubblewrapHere,
  folder: openFolder,
  asUser: async (start, folder) => {
    spawnSync("chown", ["-R", `${nobody}:${nobody}`, folder]);
    const { program, args } = start;
    const user = ["--reuid", nobody, "--regid", nobody, "--clear-groups", "--", program];
    return { ...start, program: "setpriv", args: [...user, ...args] };
  },
});
