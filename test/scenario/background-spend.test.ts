import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { collectGarbage } from "../../packages/palimpsest/src/session/collect-garbage.ts";
import { deleteSessions } from "../../packages/palimpsest/src/session/delete-sessions.ts";
import { millis, nanoUsd } from "../../packages/palimpsest/src/schema/brand.ts";
import { fileStore, openContext } from "../../packages/palimpsest/src/index.ts";
import { echoResponder } from "../../packages/simulator/src/responder/echo-responder.ts";
import { temporaryFolder } from "../contract/temporary-folder.ts";
import { append, reply, user } from "../fixture/session.ts";
import { newProject, sessionWith } from "./support/project.ts";
import { agentWorld, turn } from "./support/whole-agent.ts";

const cents = (count: number) => nanoUsd(count * 10_000_000);
const week = millis(Date.now() - 7 * 24 * 60 * 60 * 1000);

describe("what the sessions of a project pay is written down for its background work", () => {
  it("by a library's conversation, once, also if the session is opened again", async () => {
    const folder = await temporaryFolder();
    const open = () => openContext({ model: "claude-sonnet-5-5", session: "s", store: fileStore({ folder }) });
    const first = await open();
    await first.user("Go.");
    await first.next();
    const usage = { input_tokens: 1_000, output_tokens: 100 };
    await first.assistant({
      id: "m1",
      model: "claude-sonnet-5-5",
      content: [{ type: "text", text: "Done." }],
      stop_reason: "end_turn",
      usage,
    });
    const { totalNanos } = first.costs().session;
    await first.close();
    await (await open()).close();
    const opened = await fileStore({ folder }).open();
    if (opened.kind === "failed") throw new Error(opened.message);
    expect(totalNanos).toBeGreaterThan(0);
    expect(await opened.spend?.since(week)).toMatchObject({ mainNanos: totalNanos, backgroundNanos: 0 });
  });

  it("by the terminal agent; then its background work may cost 5 % of that, and the user is told once if it would not fit", async () => {
    const world = await agentWorld({ responder: echoResponder });
    onTestFinished(() => rm(join(world.home, ".."), { recursive: true, force: true }));
    const agent = await world.open({ kind: "new" }, "claude-sonnet-5-5");
    await turn(agent, "Go.");
    const { context } = agent;
    const { totalNanos } = context.conversation.costs.session;
    expect(await context.backgroundSpend.budget()).toMatchObject({
      mainNanos: totalNanos,
      allowedNanos: Math.floor(totalNanos * 0.05),
      backgroundNanos: 0,
    });
    expect((await context.backgroundSpend.mayStart(cents(5))).kind).toBe("ok");
    expect((await context.backgroundSpend.mayStart(cents(6))).kind).toBe("over");
    expect((await context.backgroundSpend.mayStart(cents(6))).kind).toBe("over");
    expect(await warnings(agent, "Go on.")).toEqual([expect.stringMatching(/^Background memory work is paused\./)]);
    expect(await warnings(agent, "Go on.")).toEqual([]);
    await agent.close();
    const written = await spendLines(join(world.home, "projects"));
    expect(written.reduce((sum, { nanos }) => sum + nanos, 0)).toBe(context.conversation.costs.session.totalNanos);
  });
});

async function warnings(agent: Agent, text: string): Promise<readonly string[]> {
  const events = await turn(agent, text);
  return events.flatMap((event) =>
    event.kind === "warning" && event.code === "background-budget" ? [event.message] : [],
  );
}

async function spendLines(folder: string): Promise<readonly { readonly nanos: number }[]> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => /\.spend\/[\d-]+\.jsonl$/.test(name));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts.flatMap((text) =>
    text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { nanos: number }),
  );
}

it("a spend log is no session: it is not listed, and neither gc nor a deletion touches it", async () => {
  const { deps, folder } = await newProject();
  await sessionWith(deps, "spend", async (session) => void (await append(session, user("Go."), reply("m1"))));
  await deps.spend.add({ at: deps.now(), source: "main", nanos: cents(1) });
  const before = await readdir(join(folder, ".spend"));
  expect((await deps.sessions.list()).map(({ sessionId }) => sessionId)).toEqual(["spend"]);
  expect(await collectGarbage(deps, { mode: "delete" })).toMatchObject({ kind: "collected" });
  const id = (await deps.sessions.list())[0]?.sessionId;
  if (id === undefined) return expect.unreachable();
  await deleteSessions(deps, { sessions: [id] });
  expect(await deps.sessions.list()).toEqual([]);
  expect(await readdir(join(folder, ".spend"))).toEqual(before);
  expect((await deps.spend.since(week)).mainNanos).toBe(cents(1));
});
