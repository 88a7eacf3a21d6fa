import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { JobReadOutcome, JobRequest, Jobs } from "../../packages/palimpsest/src/ports/jobs.ts";
import { toolUseId } from "../../packages/palimpsest/src/schema/brand.ts";
import { skipped } from "./skipped.ts";

export interface JobsUnderTest {
  readonly name: string;
  readonly make: () => Promise<Jobs>;
  /** Why it starts none. Absent: it does. */
  readonly refuses?: string;
}

const order = (command: string): JobRequest => ({
  command,
  cwd: "/",
  env: { PATH: process.env["PATH"] ?? "" },
  toolUse: toolUseId(`toolu_${command.length}_${command.slice(0, 8)}`),
});

/** The rules of the port. */
export function jobsContract({ name, make, refuses }: JobsUnderTest): void {
  const made = async (): Promise<Jobs> => {
    const jobs = await make();
    onTestFinished(() => jobs.close());
    return jobs;
  };

  describe(`jobs: ${name}`, () => {
    it("know nothing of a job that there is not, and name those that there are", async () => {
      const jobs = await made();
      const unknown: JobReadOutcome = { kind: "unknown", known: [] };
      expect([jobs.look("no"), jobs.peek("no"), await jobs.kill("no")]).toEqual([unknown, unknown, unknown]);
      await expect(jobs.end("no")).resolves.toBeUndefined();
      expect([jobs.list(), jobs.takeEnded()]).toEqual([[], []]);
    });

    it("can be closed twice, and none is started behind that", async () => {
      const jobs = await made();
      await jobs.close();
      await jobs.close();
      expect(jobs.start(order("true"))).toEqual({ kind: "refused", why: expect.stringMatching(/[^.]$/) as unknown });
    });

    it("are started, or refused at once with the reason", async () => {
      const jobs = await made();
      const started = jobs.start(order("true"));
      expect(started.kind).toBe(refuses === undefined ? "started" : "refused");
      expect(jobs.list()).toHaveLength(refuses === undefined ? 1 : 0);
      if (started.kind === "refused") expect(started.why).toMatch(/[^.]$/);
    });

    describe.skipIf(refuses)(`that run${skipped(refuses)}`, () => {
      it("are listed from their start, and their end is news once", async () => {
        const jobs = await made();
        const started = jobs.start(order("echo one"));
        if (started.kind !== "started") return expect.unreachable(started.why);
        const { id } = started.job;
        expect(jobs.list().map((job) => job.id)).toEqual([id]);
        await vi.waitUntil(() => jobs.list()[0]?.state.kind === "ended");
        expect(jobs.peek(id)).toMatchObject({ kind: "seen", output: "one\n" });
        expect(jobs.takeEnded().map((job) => job.id)).toEqual([id]);
        expect(jobs.takeEnded()).toEqual([]);
        expect(jobs.look(id)).toMatchObject({ kind: "seen", output: "one\n" });
        expect(jobs.look(id)).toMatchObject({ kind: "seen", output: "" });
      });

      it("end when they are killed, and their end that a look has shown is no news", async () => {
        const jobs = await made();
        const started = jobs.start(order("sleep 60"));
        if (started.kind !== "started") return expect.unreachable(started.why);
        expect(await jobs.kill(started.job.id)).toMatchObject({ kind: "seen", job: { state: { kind: "ended" } } });
        expect(jobs.takeEnded()).toEqual([]);
      });

      it("end with the session", async () => {
        const jobs = await made();
        jobs.start(order("sleep 60"));
        await jobs.close();
        expect(jobs.list().map((job) => job.state.kind)).toEqual(["ended"]);
      });
    });
  });
}
