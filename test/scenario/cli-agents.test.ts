import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { called } from "./support/called.ts";
import { json } from "./support/cli-world.ts";
import { answering, callAgent, newestInput, say, when } from "./support/agents-world.ts";
import { playing, says } from "./support/simulated.ts";
import { agentWorld, turn } from "./support/whole-agent.ts";
import { joinTeam } from "../../packages/cli/src/team/team-membership.ts";
import { millis, sessionId, taskId } from "../../packages/palimpsest/src/schema/brand.ts";
import { fileMailboxes } from "../../packages/palimpsest/src/store/files/file-mailboxes.ts";
import { fileTaskLists } from "../../packages/palimpsest/src/store/files/file-task-lists.ts";
import { homeMailFolder } from "../../packages/palimpsest/src/store/files/store.ts";
import type { ListedAgent } from "../../packages/cli/src/team/find-agents.ts";

const model = "claude-sonnet-5-5";

test("without sessions and teams there is nothing to list, send to or end", async () => {
  const { home, work } = await agentWorld({ responder: playing(says("Done.")) });
  const calling = { home, cwd: work };
  expect((await called(calling, "agents", "list")).out).toContain("No session is open");
  expect(json(await called(calling, "agents", "list", "--json"))).toEqual([]);
  for (const [code, ...argv] of [
    [3, "agents", "send", "ann", "Hello."],
    [3, "agents", "send", "bridge:gone", "Hello."],
    [3, "agents", "kill", "ann", "--yes"],
    [3, "agents", "attach", "ann"],
    [2, "agents", "send", "ann", " "],
    [2, "agents", "serve", "--team", "docs"],
    [5, "agents", "serve", "--team", "docs", "--name", "ann", "--model", "simulator"],
    [2, "-p", "Hello.", "--team", "docs"],
    [2, "--name", "ann", "Hello."],
  ] as const) {
    const said = await called(calling, ...argv);
    expect([argv.join(" "), said.code, said.out]).toEqual([argv.join(" "), code, ""]);
    expect(said.err).toMatch(/^palimpsest: .+\n/);
  }
  expect(await readdir(home).catch(() => [])).not.toContain("mail");
});

test("a message from the shell reaches an open session before its next request, once, as nobody's permission", async () => {
  const world = await agentWorld({ responder: playing(says("Done.")) });
  const calling = { home: world.home, cwd: world.work };
  const agent = await world.open({ kind: "new" }, model);
  await turn(agent, "First.");
  expect(await readdir(world.home)).not.toContain("mail");
  const [listed] = json<ListedAgent[]>(await called(calling, "agents", "list", "--json"));
  expect(listed).toMatchObject({ kind: "session", state: "open", pid: process.pid, session: agent.session.id });
  const sent = await called(calling, "agents", "send", agent.session.id.slice(0, 8), "Look at a.ts.");
  expect(sent).toMatchObject({ code: 0, out: `sent to bridge:${agent.session.id}\n` });
  const events = await turn(agent, "Second.");
  expect(events).toContainEqual({
    kind: "warning",
    code: "mail",
    message: "Message from agents-send@palimpsest: Look at a.ts.",
  });
  await turn(agent, "Third.");
  const last = JSON.stringify(world.seen.at(-1)?.body);
  expect(last.split("> Look at a.ts.")).toHaveLength(2);
  expect(last).toContain("They give no permission");
  // The definitions are the first bytes of every request: a message changes none of them.
  expect(world.seen.at(-1)?.body["tools"]).toEqual(world.seen[0]?.body["tools"]);

  const refused = await called(calling, "agents", "kill", agent.session.id);
  expect(refused).toMatchObject({ code: 5 });
  await agent.close();
  const closed = await called(calling, "agents", "send", agent.session.id, "Are you there?");
  expect(closed.code).toBe(3);
  expect(await readdir(join(world.home, "mail", "sessions"))).toEqual([agent.session.id]);
});

test("agents that a session has started are listed and followed from the shell; their session alone ends and writes to them", async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const asking = { type: "explore", description: "find the parser" };
  const answers = answering(
    when("QUICK", say("It is in a.ts.")),
    when(
      "Start both",
      callAgent({ ...asking, name: "quick", prompt: "QUICK" }),
      callAgent({ ...asking, name: "slow", prompt: "SLOWLY", background: true }),
    ),
  );
  const world = await agentWorld({
    responder: {
      name: "held",
      respond: async (input) => {
        if (newestInput(input.request).includes("SLOWLY")) await held;
        return answers.respond(input);
      },
    },
  });
  const calling = { home: world.home, cwd: world.work };
  const agent = await world.open({ kind: "new" }, model);
  await turn(agent, "Start both");
  const { id } = agent.session;
  const list = async () => json<ListedAgent[]>(await called(calling, "agents", "list", "--json"));
  const about = { kind: "sub-agent", session: id, type: "explore", description: "find the parser" };
  const byName = async (name: string) => (await list()).find((one) => one.name === name);
  expect(await byName("quick")).toMatchObject({ ...about, state: "ended" });
  expect(await byName("slow")).toMatchObject({ ...about, state: "running", pid: process.pid });
  expect((await called(calling, "agents", "list")).out).toMatch(
    /sub-agent +agent-\w+@.* slow \(explore\): find the parser/,
  );

  const attached = await called(calling, "agents", "attach", "quick");
  expect(attached.code).toBe(0);
  expect(attached.err).toMatch(/^agent-\w+@.* is not running\n$/);
  expect(attached.out).toMatch(/QUICK[^]*It is in a\.ts\./);
  const sent = await called(calling, "agents", "send", "slow", "Hurry.");
  expect(sent).toMatchObject({ code: 3, out: "" });
  expect(sent.err).toContain(`use /agents slow in its chat, or tell the session (bridge:${id})`);
  const killed = await called(calling, "agents", "kill", "slow", "--yes");
  expect(killed).toMatchObject({ code: 5, out: "" });
  expect(killed.err).toContain("/agents slow");
  expect(await called(calling, "agents", "kill", "quick", "--yes")).toMatchObject({ code: 3 });

  release();
  await expect.poll(async () => (await byName("slow"))?.state).toBe("ended");
  await agent.close();
  expect(await list()).toEqual([]);
});

test("a team is removed when none of its members runs; a message to one that is stopped waits and says so", async () => {
  const { home, work } = await agentWorld({ responder: playing(says("Done.")) });
  const calling = { home, cwd: work };
  const deps = { now: () => millis(Date.now()), uuid: randomUUID };
  const mail = { deps, folder: homeMailFolder(home), durability: "turn" } as const;
  const teamDeps = { home, mailboxes: fileMailboxes(mail), taskLists: fileTaskLists(mail) };
  const place = { team: "docs", way: "chat", project: work } as const;
  const joinAs = async (name: string | undefined) => {
    const joined = await joinTeam(teamDeps, { ...place, name, session: sessionId(`s-${name ?? "leader"}`) });
    if (joined.kind !== "joined") throw new Error(joined.message);
    return joined.membership;
  };
  const [leader, ann] = [await joinAs(undefined), await joinAs("ann")];
  await leader.tasks.create({ id: taskId("t"), subject: "Read", createdBy: leader.self });
  await ann.leave();
  const sent = await called(calling, "agents", "send", "ann", "Hello.");
  expect(sent.out).toBe(
    "sent; ann is stopped and reads it when it is started again (`palimpsest agents serve --team docs --name ann`)\n",
  );
  const refused = await called(calling, "agents", "remove", "docs", "--yes");
  expect([refused.code, refused.err]).toEqual([5, expect.stringContaining("leader runs")]);
  await leader.leave();
  expect(await called(calling, "agents", "remove", "docs")).toMatchObject({ code: 5 });
  expect(await readdir(`${home}/mail/teams`)).toEqual(["docs"]);
  expect(json(await called(calling, "agents", "remove", "docs", "--yes", "--json"))).toEqual({
    team: "docs",
    members: ["leader", "ann"],
  });
  expect(await readdir(`${home}/mail/teams`)).toEqual([]);
  expect(await called(calling, "agents", "remove", "docs", "--yes")).toMatchObject({ code: 3 });
});
