import { realpath } from "node:fs/promises";
import { spawnSync } from "node:child_process";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import type { JobReadOutcome } from "palimpsest/internal/ports/jobs";
import { millis, toolUseId } from "palimpsest/internal/schema/brand";
import { jobsKeptMax, jobsRunningMax } from "../limits.ts";
import { findShell } from "./bash-tool.ts";
import { ShellJobs } from "./shell-jobs.ts";

const isRunning = (pid: number): boolean => {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return /^[^Z\s]/.test(stdout.trim());
};

async function session() {
  const cwd = await realpath(await temporaryFolder());
  const recorded = new Set<number>();
  const groups = {
    record: async ({ leader }: { readonly leader: number }) => {
      recorded.add(leader);
      return async () => void recorded.delete(leader);
    },
    left: async () => [],
  };
  const jobs = new ShellJobs({ shell: (await findShell()).path, now: () => millis(Date.now()), groups });
  onTestFinished(() => jobs.close());
  let calls = 0;
  const start = (command: string, timeoutMs?: number) => {
    calls += 1;
    const toolUse = toolUseId(`toolu_${String(calls).padStart(8, "0")}`);
    const limit = timeoutMs === undefined ? {} : { timeoutMs: millis(timeoutMs) };
    return jobs.start({ command, cwd, env: { PATH: process.env["PATH"] ?? "" }, toolUse, ...limit });
  };
  const begun = (command: string, timeoutMs?: number): string => {
    const started = start(command, timeoutMs);
    if (started.kind !== "started") throw new Error(started.why);
    return started.job.id;
  };
  return { jobs, start, begun, recorded };
}

const until = async (holds: () => boolean): Promise<void> => {
  for (let tries = 0; !holds(); tries += 1) {
    if (tries > 500) throw new Error("it did not come to be");
    await wait(20);
  }
};

const seen = (look: JobReadOutcome) => {
  if (look.kind !== "seen") throw new Error("no such job");
  return look;
};

describe("background jobs", () => {
  test("what the user looks at and ends is still news to the agent", async () => {
    const { jobs, begun } = await session();
    const id = begun("echo one; sleep 60");
    await until(() => seen(jobs.peek(id)).output.includes("one"));
    await jobs.end(id);
    expect(seen(jobs.peek(id)).job.state).toMatchObject({ kind: "ended", how: "ended on demand" });
    expect(jobs.takeEnded().map((job) => job.id)).toEqual([id]);
    expect(seen(jobs.look(id)).output).toContain("one");
    expect(jobs.peek("nobody")).toEqual({ kind: "unknown", known: [id] });
    await jobs.end("nobody");
  });

  test("a look shows what came since the last one, and each thing once", async () => {
    const { jobs, begun } = await session();
    const id = begun("echo one; read -t 0.5 < <(sleep 0.4; echo) ; echo two; sleep 60");
    let all = "";
    await until(() => (all += seen(jobs.look(id)).output).includes("two"));
    expect(all).toBe("one\ntwo\n");
    expect(seen(jobs.look(id))).toMatchObject({ output: "", job: { state: { kind: "running" } } });
  });

  test("a character that comes by half is shown whole", async () => {
    const { jobs, begun } = await session();
    const id = begun(String.raw`printf '\xe2\x82'; sleep 0.4; printf '\xac'; sleep 60`);
    let all = "";
    await until(() => (all += seen(jobs.look(id)).output) !== "");
    expect(all).toBe("€");
  });

  test("a filter shows lines with one of its texts, and waits for the end of a line", async () => {
    const { jobs, begun } = await session();
    const id = begun("echo fine; echo an error; echo a warning; printf 'half an error'; sleep 60");
    await until(() => {
      const look = seen(jobs.look(id, "error|warning"));
      return look.output === "an error\na warning" && look.hiddenLines === 1;
    });
    await wait(100);
    expect(seen(jobs.look(id, "error"))).toMatchObject({ output: "", hiddenLines: 0 });
    expect(seen(jobs.look(id)).output).toBe("half an error");
  });

  test.each([
    ["exit 0", "exit code 0", "done"],
    ["exit 3", "exit code 3", "failed"],
    ["kill -9 $$", "ended by SIGKILL", "failed"],
  ])("the end of `%s` is told as %s, once", async (command, how, result) => {
    const { jobs, begun } = await session();
    const id = begun(command);
    await until(() => jobs.list().every(({ state }) => state.kind === "ended"));
    expect(jobs.takeEnded()).toMatchObject([{ id, state: { kind: "ended", how, result } }]);
    expect(jobs.takeEnded()).toEqual([]);
  });

  test("an end that a look has shown is no news", async () => {
    const { jobs, begun } = await session();
    const id = begun("true");
    await until(() => seen(jobs.look(id)).job.state.kind === "ended");
    expect(jobs.takeEnded()).toEqual([]);
  });

  test("one that outlives its time limit is ended", async () => {
    const { jobs, begun } = await session();
    begun("sleep 60", 100);
    await until(() => jobs.list().every(({ state }) => state.kind === "ended"));
    expect(jobs.takeEnded()).toMatchObject([{ state: { how: "ended after 100 ms, its time limit" } }]);
  });

  test("a kill and the end of the session end whole groups and take them off the record", async () => {
    const { jobs, begun, start, recorded } = await session();
    const ids = [begun("sleep 61 & echo $!; wait"), begun("sleep 62 & echo $!; wait")];
    const pids: number[] = [];
    for (const id of ids) {
      let said = "";
      await until(() => (said += seen(jobs.look(id)).output).endsWith("\n"));
      pids.push(Number(said));
    }
    await until(() => recorded.size === 2);
    expect(pids.map(isRunning)).toEqual([true, true]);
    expect(seen(await jobs.kill(ids[0] ?? "")).job.state).toMatchObject({ kind: "ended", how: "ended on demand" });
    expect(pids.map(isRunning)).toEqual([false, true]);
    await jobs.close();
    expect(pids.map(isRunning)).toEqual([false, false]);
    expect(recorded.size).toBe(0);
    expect(start("true")).toMatchObject({ kind: "refused" });
  });

  test("no more run at once than the limit, and only the last ended ones are kept", async () => {
    const { jobs, begun, start } = await session();
    const ids = Array.from({ length: jobsRunningMax }, () => begun("sleep 60"));
    expect(start("true")).toMatchObject({ kind: "refused" });
    await Promise.all(ids.map((id) => jobs.kill(id)));
    const first = begun("true");
    await until(() => seen(jobs.look(first)).job.state.kind === "ended");
    begun("true");
    expect(jobs.list().length).toBe(jobsKeptMax + 1);
    expect(jobs.look(ids[0] ?? "")).toMatchObject({ kind: "unknown" });
  });

  test("the id comes from the call, so that none is given twice in a session", async () => {
    const { begun } = await session();
    expect([begun("true"), begun("true")]).toEqual(["job_00000001", "job_00000002"]);
  });
});
