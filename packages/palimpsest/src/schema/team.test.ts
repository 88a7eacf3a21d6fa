import { expect, it } from "vitest";
import { leaderName, planJoin, stopDead, type TeamRecord, withMember } from "./team.ts";

const process = { pid: 7, started: "boot/1", host: "here" };
const request = {
  team: "docs",
  name: undefined,
  way: "chat",
  project: "/p",
  process,
  now: 5,
  running: new Set<string>(),
} as const;

const teamWith = (...names: readonly string[]): TeamRecord =>
  names.reduce<TeamRecord>(
    (record, name) =>
      withMember(record, {
        name,
        role: name === leaderName ? "leader" : "teammate",
        state: "working",
        way: "served",
        project: "/p",
        session: `session of ${name}`,
        process,
        limits: { mode: "plan", allow: [], ask: [], deny: [] },
      }),
    { team: "docs", createdAt: 1, members: [] },
  );

it("makes the first process of a team its leader", () => {
  expect(planJoin(undefined, request)).toMatchObject({
    kind: "join",
    member: { name: "leader", role: "leader", state: "idle", process },
    record: { team: "docs", createdAt: 5 },
  });
});

it.each([
  ["a teammate of a team that does not exist", undefined, { name: "ann" }, "There is no team docs yet"],
  ["a second leader", teamWith("leader"), { running: new Set(["leader"]) }, "has a leader (process 7)"],
  [
    "a name that is in use",
    teamWith("leader", "ann"),
    { name: "ann", running: new Set(["ann"]) },
    "agents kill ann@docs",
  ],
  ["a name that is no name", teamWith("leader"), { name: "../ann" }, "can't be the name of an agent"],
  ["a team that is no name", undefined, { team: ".." }, "can't be the name of a team"],
])("refuses %s", (_what, record, changes, message) => {
  const plan = planJoin(record, { ...request, ...changes });
  expect(plan.kind === "refused" && plan.message).toContain(message);
});

it("lets the next process take the place of a dead one, with its session and limits if it is served", () => {
  const record = teamWith("leader", "ann");
  const served = planJoin(record, { ...request, name: "ann", way: "served" });
  expect(served).toMatchObject({ member: { session: "session of ann", limits: { mode: "plan" }, state: "idle" } });
  const chat = planJoin(record, { ...request, name: "ann" });
  expect(chat.kind === "join" && chat.member.limits).toBeUndefined();
});

it("limits the number of members", () => {
  const names = Array.from({ length: 31 }, (_, at) => `a${at}`);
  expect(planJoin(teamWith("leader", ...names), { ...request, name: "more" })).toMatchObject({ kind: "refused" });
  expect(planJoin(teamWith("leader", ...names), { ...request, name: "a3" })).toMatchObject({ kind: "join" });
});

it("counts members whose processes are gone as stopped, and names them once", () => {
  const { record, dead } = stopDead(teamWith("leader", "ann", "ben"), new Set(["leader", "ben"]));
  expect(dead.map(({ name }) => name)).toEqual(["ann"]);
  expect(record.members.map(({ state }) => state)).toEqual(["working", "stopped", "working"]);
  expect(stopDead(record, new Set(["leader", "ben"])).dead).toEqual([]);
});
