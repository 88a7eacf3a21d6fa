import { existsSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openAgent } from "../../packages/cli/src/agent/open-agent.ts";
import { findSandbox } from "../../packages/cli/src/tool/sandbox/find-sandbox.ts";
import { temporaryFolder } from "../contract/temporary-folder.ts";
import { needsBubblewrap, noBubblewrap } from "../fixture/sandbox-available.ts";
import { playing, says } from "./support/simulated.ts";
import { type AgentWorld, agentWorld, turn } from "./support/whole-agent.ts";

/** A script that the permission rules can't look into, and that is allowed. */
const newWorld = (): Promise<AgentWorld> =>
  agentWorld({
    responder: playing([{ type: "tool_use", name: "bash", input: { command: "sh script" } }], says("Done.")),
  });

interface Running {
  readonly script: string;
  readonly cwd: string;
}

/** What the model sees of it. */
async function runScript({ env, seen }: AgentWorld, { script, cwd }: Running): Promise<string> {
  await writeFile(join(cwd, "script"), script);
  const opened = await openAgent({
    env,
    cwd,
    version: "0.0.0",
    flags: [{ flag: "model", text: "claude-sonnet-4-5" }],
    session: { kind: "new" },
    model: { kind: "provider" },
    tools: { allow: ["Bash(sh:*)"], deny: [] },
    sandbox: await findSandbox({ env: process.env, folder: await temporaryFolder() }),
  });
  if (opened.kind !== "agent") throw new Error(JSON.stringify(opened));
  onTestFinished(() => opened.close());
  await turn(opened, "Go.");
  return JSON.stringify(seen.at(-1)?.body["messages"]);
}

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

describe.skipIf(noBubblewrap)(`settings files wherever they are: ${needsBubblewrap("kept from commands")}`, () => {
  test("the user's own, which a link leads into the project", async () => {
    const script = "echo evil > dots/settings.json; rm -f dots/settings.json; mv dots other; touch made; echo ran";
    const world = await newWorld();
    await put(join(world.work, "dots/settings.json"), "{}");
    await mkdir(world.home);
    await symlink(join(world.work, "dots/settings.json"), join(world.home, "settings.json"));
    expect(await runScript(world, { script, cwd: world.work })).toContain("ran");
    expect(await readFile(join(world.work, "dots/settings.json"), "utf8")).toBe("{}");
    expect(existsSync(join(world.work, "made"))).toBe(true);
  });

  test("the user's own, behind a link that stands in the project and can't be held: no command runs", async () => {
    const script = "ln -sfn evil dots; echo ran";
    const world = await newWorld();
    await put(join(world.work, "real/settings.json"), "{}");
    await symlink("real", join(world.work, "dots"));
    await mkdir(world.home);
    await symlink(join(world.work, "dots/settings.json"), join(world.home, "settings.json"));
    expect(await runScript(world, { script, cwd: world.work })).toContain(
      "work/dots is a symbolic link, which can't be kept",
    );
  });
});
