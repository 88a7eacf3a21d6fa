import { appendFile, mkdir, mkdtemp, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { sessionId } from "palimpsest/internal/schema/brand";
import { expect, it } from "vitest";
import { SubAgentFinder } from "./find-agents.ts";

const openedAt = Date.parse("2026-03-14T12:00:00Z");
const before = openedAt - 60_000;
const after = openedAt + 60_000;

const record = (id: string, startedAt: number) => ({
  id,
  name: `name-${id}`,
  type: "explore",
  description: "find it",
  depth: 1,
  place: "background",
  model: "m",
  startedAt,
  booked: 0,
});

const line = (...records: readonly object[]): string =>
  `${JSON.stringify({ type: "setting", uuid: crypto.randomUUID(), parentUuid: null, sessionId: "s", timestamp: new Date(0).toISOString(), name: "agents.running", value: records })}\n`;

/** `written`: when each agent's transcript was written last. */
async function openedSession(log: string, written: Readonly<Record<string, number>>) {
  const folder = await mkdtemp(join(tmpdir(), "finder-"));
  const path = join(folder, "s.jsonl");
  await mkdir(join(folder, "s", "subagents"), { recursive: true });
  await writeFile(path, log);
  for (const [id, at] of Object.entries(written)) {
    const file = join(folder, "s", "subagents", `${id}.jsonl`);
    await writeFile(file, "");
    await utimes(file, at / 1_000, at / 1_000);
  }
  const since = new Date(openedAt).toISOString();
  return { id: sessionId("s"), path, root: "/p", pid: 7, started: null, host: hostname(), since };
}

it("an agent of the record runs, one that has left it has ended, and one of an earlier process is lost until it goes on", async () => {
  const [a, b, c, d] = ["agent-a", "agent-b", "agent-c", "agent-d"] as const;
  const log = [
    line(record(c, before), record(d, before)),
    `{"type":"user","text":"about \\"agents.running\\""}\n`,
    line(record(a, after), record(b, after), record(c, before), record(d, before)),
    line(record(a, after), record(c, before), record(d, before)),
  ].join("");
  const session = await openedSession(log, { [a]: after, [b]: after, [c]: before, [d]: after, "agent-x": before });
  const found = await new SubAgentFinder().find(session);
  expect(found.map(({ address, state, pid, name }) => [address, state, pid, name])).toEqual([
    ["agent-a@s", "running", 7, "name-agent-a"],
    ["agent-b@s", "ended", undefined, "name-agent-b"],
    ["agent-c@s", "lost", undefined, "name-agent-c"],
    ["agent-d@s", "running", 7, "name-agent-d"],
    ["agent-x@s", "ended", undefined, undefined],
  ]);
  expect(found[0]).toMatchObject({ kind: "sub-agent", type: "explore", description: "find it", session: "s" });
});

it("asked again it knows what was added, also to a line that was half written", async () => {
  const [first, second] = [line(record("agent-a", after)), line()];
  const session = await openedSession(first + second.slice(0, 40), { "agent-a": after });
  const finder = new SubAgentFinder();
  expect(await finder.find(session)).toMatchObject([{ state: "running" }]);
  await appendFile(session.path, second.slice(40));
  expect(await finder.find(session)).toMatchObject([{ state: "ended", name: "name-agent-a" }]);
});
