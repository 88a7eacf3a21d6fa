import { spawnSync } from "node:child_process";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { heldToolbox } from "../../../../../test/fixture/sandbox.ts";
import { needsBubblewrap, noBubblewrap } from "../../../../../test/fixture/sandbox-available.ts";
import { toolbox } from "../../../../../test/fixture/toolbox.ts";
import { millis } from "palimpsest/internal/schema/brand";
import type { SessionSandbox } from "../sandbox/session-sandbox.ts";
import { findShell } from "./bash-tool.ts";
import { ShellJobs } from "./shell-jobs.ts";

const processesWith = (word: string): string =>
  spawnSync("ps", ["-eo", "stat=,args="], { encoding: "utf8" })
    .stdout.split("\n")
    .filter((line) => line.includes(word) && !/^Z|ps -eo/.test(line))
    .join("\n");

const unused = (): string => String(100_000 + Math.floor(Math.random() * 800_000));

describe.skipIf(noBubblewrap)(`bash: ${needsBubblewrap("in a sandbox")}`, () => {
  test("gives output, exit code and folder as it does without one", async () => {
    const box = await heldToolbox();
    await mkdir(join(box.project, "a"));
    expect(await box.call("bash", { command: "cd a; echo out; echo err >&2; exit 3" })).toMatchObject({
      isError: true,
      text: "out\nerr\n[exit code 3]",
    });
    expect((await box.call("bash", { command: "pwd" })).text).toBe(join(box.project, "a"));
    expect((await box.call("bash", { command: "set -f; cd ..; set -u" })).text).toBe("");
    expect((await box.call("bash", { command: "pwd" })).text).toBe(box.project);
  });

  test("a command that is known to change nothing can't, another writes in the project only", async () => {
    const box = await heldToolbox();
    // The parser is not to be relied on here: whatever it takes for harmless is held to it.
    const acts = await box.acts("bash", { command: "ls" });
    expect(acts[0]).toMatchObject({ effect: "read-only" });
    expect((await box.call("bash", { command: "touch made && ls" })).text).toBe("made");
    expect((await box.call("bash", { command: `touch ${box.outside}/made` })).text).toMatch(
      /Read-only file system|No such file/,
    );
    expect(await readdir(box.outside)).toEqual([]);
  });

  test("says that processes were left in the background, also such as left the group", async () => {
    const box = await heldToolbox();
    const seconds = unused();
    const left = await box.call("bash", { command: `sleep ${seconds} & (setsid sleep ${seconds} &) ; echo started` });
    expect(left.text).toBe("started\n[Processes it left in the background were ended.]");
    expect((await box.call("bash", { command: "sleep 0.01 & wait; (exit 0); echo $(echo done)" })).text).toBe("done");
    await wait(100);
    expect(processesWith(`sleep ${seconds}`)).toBe("");
  });

  test("at its time limit a program is asked to end first, and everything inside is ended then", async () => {
    const box = await heldToolbox();
    const seconds = unused();
    const command = `trap 'echo asked; exit 1' TERM; setsid sleep ${seconds} & sleep ${seconds} & wait`;
    const ran = await box.call("bash", { command, timeout_ms: 700 });
    expect(ran.text).toContain("asked");
    expect(ran.text).toContain("its time limit");
    await wait(100);
    expect(processesWith(`sleep ${seconds}`)).toBe("");
  });

  test("a program that does not heed is ended", async () => {
    const box = await heldToolbox();
    const seconds = unused();
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 500);
    const command = `trap '' TERM; setsid sleep ${seconds} & sleep ${seconds}`;
    const ran = await box.call("bash", { command }, { signal: stop.signal });
    expect(ran.text).toContain("interrupted");
    await wait(100);
    expect(processesWith(`sleep ${seconds}`)).toBe("");
  });

  test("jobs are held, share the temporary folder and end with the session", async () => {
    const jobs = new ShellJobs({ shell: (await findShell()).path, now: () => millis(Date.now()) });
    onTestFinished(() => jobs.close());
    const box = await heldToolbox({ jobs });
    const seconds = unused();
    const command = `echo from job > /tmp/shared; touch ${box.outside}/made; sleep ${seconds}`;
    await box.call("bash", { command, background: true });
    for (let tries = 0; !processesWith(`sleep ${seconds}`) && tries < 200; tries += 1) await wait(20);
    expect((await box.call("bash", { command: "cat /tmp/shared" })).text).toBe("from job");
    expect(await readdir(box.outside)).toEqual([]);
    await jobs.close();
    expect(processesWith(`sleep ${seconds}`)).toBe("");
  });

  test("what lies in the system's temporary folder is seen where a command names it", async () => {
    const box = await heldToolbox();
    await writeFile(join(box.outside, "named"), "named\n");
    const named = join(box.outside, "named");
    expect((await box.call("bash", { command: `cat ${named}` })).text).toBe("named");
    // Not by a line that does not say its name.
    const hiding = `awk 'BEGIN { while ((getline line < "${box.outside}/na" "med") > 0) print line }'`;
    expect((await box.call("bash", { command: hiding })).text).not.toContain("named");
  });

  test("a command that the sandbox made fail says what was refused, in the background too", async () => {
    const jobs = new ShellJobs({ shell: (await findShell()).path, now: () => millis(Date.now()) });
    onTestFinished(() => jobs.close());
    const box = await heldToolbox({ jobs });
    const refused = /\[the sandbox refused it: \/etc\/made can't be written, .*outside_sandbox: the user is asked\]/;
    expect((await box.call("bash", { command: "touch /etc/made" })).text).toMatch(refused);
    expect((await box.call("bash", { command: "echo fails; exit 3" })).text).toBe("fails\n[exit code 3]");
    const started = await box.call("bash", { command: "touch /etc/made", background: true });
    const id = /job_\w+/.exec(started.text)?.[0] ?? "";
    const output = (): string => {
      const look = jobs.peek(id);
      return look.kind === "seen" ? look.output : "";
    };
    await expect.poll(output, { timeout: 10_000 }).toMatch(refused);
  });

  test("outside the sandbox a command runs as this process does, once the user said yes", async () => {
    const asked = await heldToolbox();
    const made = join(asked.outside, "made");
    const input = { command: `touch ${made}`, outside_sandbox: "it writes beside the project" };
    expect(await asked.call("bash", input)).toMatchObject({ kind: "asked" });
    expect(await readdir(asked.outside)).toEqual([]);
    const answered = await heldToolbox({ user: "yes" });
    const other = { ...input, command: `touch ${join(answered.outside, "made")}` };
    expect(await answered.call("bash", other)).toMatchObject({ kind: "ran", isError: false });
    expect(await readdir(answered.outside)).toEqual(["made"]);
    expect((await answered.acts("bash", other))[0]).toMatchObject({
      strength: "none",
      outsideReason: input.outside_sandbox,
    });
  });
});

test("where a sandbox is required and there is none, nothing is asked about and nothing runs", async () => {
  const use = { kind: "refused", why: "bubblewrap is not installed", remedy: "install bubblewrap" } as const;
  const enter = vi.fn<SessionSandbox["enter"]>();
  const box = await toolbox({ mode: "bypass", sandbox: () => ({ use: () => use, enter }) });
  const outcome = await box.call("bash", { command: "touch made" });
  expect(JSON.stringify(outcome)).toContain(
    "a sandbox is required, and there is none here (bubblewrap is not installed)",
  );
  expect(enter).not.toHaveBeenCalled();
});
