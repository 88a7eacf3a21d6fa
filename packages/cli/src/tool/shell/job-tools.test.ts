import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { toolbox, type ToolboxOptions } from "../../../../../test/fixture/toolbox.ts";
import { forkJobs } from "palimpsest/internal/ports/jobs";
import { millis } from "palimpsest/internal/schema/brand";
import { findShell } from "./bash-tool.ts";
import { jobEndText } from "./job-tools.ts";
import { ShellJobs } from "./shell-jobs.ts";

async function box(options: ToolboxOptions = {}) {
  const jobs = new ShellJobs({ shell: (await findShell()).path, now: () => millis(0) });
  onTestFinished(() => jobs.close());
  return { jobs, ...(await toolbox({ jobs, ...options })) };
}

const background = (command: string) => ({ command, background: true });

describe("bash in the background", () => {
  test("returns at once, shows what it wrote, and is ended on demand", async () => {
    const here = await box();
    const started = await here.call("bash", background("echo begun; sleep 300"), { id: "toolu_12345678" });
    expect(started.text).toBe("Started in the background as job_12345678.");
    const job = "job_12345678";
    let said = "";
    for (; !said.startsWith("begun"); await wait(10)) said = (await here.call("bash_output", { job })).text;
    expect(said).toBe("begun\n[it still runs]");
    expect((await here.call("bash_output", { job })).text).toBe("[nothing new]\n[it still runs]");
    expect((await here.call("bash_kill", { job })).text).toBe("[nothing new]\n[ended on demand]");
  });

  test("an interrupt of the call does not end it", async () => {
    const here = await box();
    const stop = new AbortController();
    await here.call("bash", background("sleep 300"), { signal: stop.signal });
    stop.abort();
    await wait(50);
    expect(here.jobs.list()).toMatchObject([{ state: { kind: "running" } }]);
  });

  test.each([
    [{ mode: "default" }, "asked"],
    [{ mode: "plan" }, "denied"],
    [{ mode: "default", allow: ["Bash(make:*)"] }, "ran"],
    [{ mode: "bypass", deny: ["Bash(make:*)"] }, "denied"],
  ] as const)("needs the same permission as in the foreground: %j: %s", async (options, expected) => {
    const here = await box(options);
    expect((await here.call("bash", background("make --version"))).kind).toBe(expected);
  });

  test("a job that is not there is told, with those that are", async () => {
    const here = await box();
    expect((await here.call("bash_output", { job: "job_x" })).text).toContain(
      "no background command job_x. There are none",
    );
    await here.call("bash", background("sleep 300"), { id: "toolu_12345678" });
    expect((await here.call("bash_kill", { job: "job_x" })).text).toContain("There are job_12345678");
  });

  test("a fork has the same definitions, and starts none", async () => {
    const [own, fork] = [await box(), await toolbox({ jobs: forkJobs })];
    const shown = ({ tools }: typeof fork) => JSON.stringify(tools);
    expect(shown(fork)).toBe(shown(own));
    expect(await fork.call("bash", background("touch ran"))).toMatchObject({ isError: true });
  });

  test("a reminder names the job by the first line of its command", () => {
    const state = { kind: "ended", at: millis(0), how: "exit code 1", result: "failed" } as const;
    const text = jobEndText({ id: "job_1", command: `make ${"x".repeat(500)}\nrm`, startedAt: millis(0), state });
    expect(text).toMatch(/^The background command job_1 \(make x+…\) is over: exit code 1\. bash_output shows/);
    expect(text.length).toBeLessThan(350);
  });
});
