import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { openedForTest, testDeps, testSession } from "../../../../../test/fixture/session.ts";
import { toolUseId } from "palimpsest/internal/schema/brand";
import { fileRunningGroups } from "palimpsest/internal/store/files/file-running-groups";
import { signalGroup } from "../../tool/signal-group.ts";
import { endOrphanedCommands } from "./jobs-and-servers.ts";

test.skipIf(process.platform === "win32")(
  "a group whose leader has ended is left alone and told, until it is gone",
  async () => {
    const folder = await temporaryFolder();
    const session = await openedForTest(testDeps());
    const deps = { runningGroupsFor: () => fileRunningGroups({ folder, session: testSession }) };
    const script = "sleep 60 <&- >&- & read line";
    const shell = spawn("/bin/sh", ["-c", script], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
    const leader = shell.pid ?? 0;
    onTestFinished(() => void signalGroup(leader, "SIGKILL"));
    const groups = fileRunningGroups({ folder, session: testSession });
    await groups.record({ leader, toolUse: toolUseId("toolu_1") });
    shell.stdin?.end("go\n");
    await once(shell, "exit");
    const warnings = [`A command of the last run may still be running (group ${leader}).`];
    for (let time = 0; time < 2; time += 1)
      expect(await endOrphanedCommands(deps, { session, jobs: "off" })).toMatchObject({ warnings });
    expect(signalGroup(leader, 0)).toBe(true);
    signalGroup(leader, "SIGKILL");
    await vi.waitUntil(async () => (await groups.left())[0]?.state === "gone");
    expect(await endOrphanedCommands(deps, { session, jobs: "off" })).toMatchObject({ kind: "settled", warnings: [] });
    expect(await readdir(join(folder, testSession))).toEqual([]);
  },
);

test.skipIf(process.platform === "win32")(
  "a server of tools that outlived its agent is ended, without a word: it answers no call",
  async () => {
    const folder = await temporaryFolder();
    const session = await openedForTest(testDeps());
    const deps = { runningGroupsFor: () => fileRunningGroups({ folder, session: testSession }) };
    const server = spawn("/bin/sleep", ["60"], { detached: true, stdio: "ignore" });
    const leader = server.pid ?? 0;
    onTestFinished(() => void signalGroup(leader, "SIGKILL"));
    await fileRunningGroups({ folder, session: testSession }).record({ leader, toolUse: undefined });
    const before = session.fold.path.entries.length;
    const exited = once(server, "exit");
    expect(await endOrphanedCommands(deps, { session, jobs: "off" })).toMatchObject({ kind: "settled", warnings: [] });
    expect(await exited).toEqual([null, "SIGTERM"]);
    expect(session.fold.path.entries.length).toBe(before);
    expect(await readdir(join(folder, testSession))).toEqual([]);
  },
);
