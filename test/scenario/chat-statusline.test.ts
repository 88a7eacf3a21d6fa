import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ChatHost, openChatHost } from "../../packages/cli/src/chat/chat-host.ts";
import type { ChatStatusline } from "../../packages/cli/src/statusline/chat-statusline.ts";
import { statuslineOnDemand } from "../../packages/cli/src/statusline/statusline-on-demand.ts";
import { agentFigures } from "../../packages/cli/src/chat/chat-view.ts";
import { createOutput } from "../../packages/cli/src/program/output.ts";
import { program } from "../../packages/cli/src/program/program.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import { playing, says } from "./support/simulated.ts";
import { type AgentWorld, agentWorld, turn } from "./support/whole-agent.ts";

const model = "claude-sonnet-5-5";

async function backOf({ env, work: cwd }: AgentWorld): Promise<ChatHost> {
  const out = createOutput(new PassThrough(), env);
  const back = await openChatHost({
    context: { stdin: new PassThrough(), out, err: out, env, cwd, program, called: "palimpsest" },
    model: { kind: "provider" },
    flags: [{ flag: "model", text: model }],
    tools: { allow: [], deny: [] },
    inputFrom: "pipe",
    now: () => millis(Date.now()),
  });
  if ("kind" in back) throw new Error(back.message);
  return back;
}

/** What a chat shows under its editor once a turn has been taken, by this command of the user's own settings. */
async function shownBy(command: string, said = "Hello.") {
  const world = await agentWorld({ responder: playing(says("Hello.")) });
  await mkdir(world.home, { recursive: true });
  const statusLine = { type: "command", command };
  await writeFile(join(world.home, "settings.json"), JSON.stringify({ statusLine }));
  const shown: (readonly string[])[] = [];
  const line = await (await backOf(world)).statusline((lines) => void shown.push(lines));
  if (line === undefined) throw new Error("no statusline");
  onTestFinished(() => line.close());
  const agent = await world.open({ kind: "new" }, model);
  onTestFinished(() => agent.close());
  line.changed(agent, undefined);
  for (const event of await turn(agent, said)) line.changed(agent, event);
  return { world, agent, line, shown };
}

const within = { timeout: 15_000 };

describe("a statusline command in a chat", () => {
  it("is run with the facts of the agent, and up to three of its lines are shown", async () => {
    const fields = ["session_id", "transcript_path", "cwd", "version"];
    const script = `process.stdin.on("data", (d) => { const s = JSON.parse(d); console.log([s.model.id, s.context_window.current_usage.output_tokens > 0, s.cost.total_cost_usd > 0].join(" ")); console.log(${JSON.stringify(fields)}.every((f) => s[f] !== "") ? s.session_id : "missing"); console.log("3"); console.log("4"); })`;
    const { agent, shown } = await shownBy(`'${process.execPath}' -e '${script}'`);
    await expect.poll(() => shown.at(-1), within).toEqual([`${model} true true`, agent.session.id, "3"]);
  });

  it("sees no key by which a model is reached, as no hook does", async () => {
    const { shown, world } = await shownBy('echo "key:$ANTHROPIC_API_KEY dir:$PALIMPSEST_PROJECT_DIR"');
    expect(world.env["ANTHROPIC_API_KEY"]).not.toBe(undefined);
    await expect.poll(() => shown.at(-1), within).toEqual([expect.stringMatching(/^key: dir:./)]);
  });

  it("is told the share of the window that the status line shows, also where a session is gone on with", async () => {
    const script = `process.stdin.on("data", (d) => { const { context_window: w } = JSON.parse(d); console.log(w.used_percentage + " " + (w.current_usage !== null)); })`;
    const { world, agent, line, shown } = await shownBy(
      `'${process.execPath}' -e '${script}'`,
      "many words ".repeat(20_000),
    );
    await agent.close();
    const again = await world.open({ kind: "resume", id: agent.session.id }, model);
    onTestFinished(() => again.close());
    shown.length = 0;
    const fresh = await (await backOf(world)).statusline((lines) => void shown.push(lines));
    onTestFinished(() => fresh?.close());
    line.close();
    fresh?.changed(again, undefined);
    const { usedTokens, thresholds } = agentFigures(again);
    const percent = Math.round((usedTokens / thresholds.window) * 100);
    expect(percent).toBeGreaterThan(0);
    await expect.poll(() => shown.at(-1), within).toEqual([`${percent} true`]);
  });

  it("one that fails says so in its place", async () => {
    const { shown } = await shownBy("echo no; exit 3");
    // A shell may have said something of its own before.
    await expect
      .poll(() => shown.at(-1)?.join("\n"), within)
      .toMatch(/^The statusline command ended with exit code 3\b/);
  });

  it("a slow one keeps no turn waiting, and is let to its end though something newer happens meanwhile", async () => {
    const { agent, line, shown, world } = await shownBy(`read x; echo run >> runs; sleep 1; echo late`);
    await expect.poll(() => existsSync(join(world.work, "runs")), within).toBe(true);
    expect(shown).toEqual([]);
    line.changed(agent, undefined);
    await expect.poll(() => shown, within).toEqual([["late"]]);
  });

  it("begins its facts anew with another session", async () => {
    const script = `process.stdin.on("data", (d) => { const s = JSON.parse(d); console.log([s.session_id, s.context_window.current_usage === null].join(" ")); })`;
    const { agent, line, shown, world } = await shownBy(`'${process.execPath}' -e '${script}'`);
    await expect.poll(() => shown.at(-1), within).toEqual([`${agent.session.id} false`]);
    const other = await world.open({ kind: "new" }, model);
    onTestFinished(() => other.close());
    line.changed(other, undefined);
    await expect.poll(() => shown.at(-1), within).toEqual([`${other.session.id} true`]);
  });

  it("is told of what happened before it was found", async () => {
    const world = await agentWorld({ responder: playing() });
    const agent = await world.open({ kind: "new" }, model);
    onTestFinished(() => agent.close());
    const found = Promise.withResolvers<ChatStatusline>();
    const line = statuslineOnDemand(() => found.promise);
    const events = ["turn-start", "reply-start"].map((kind) => ({ kind }) as LoopEvent);
    for (const event of [undefined, ...events]) line.changed(agent, event);
    const told: (LoopEvent | undefined)[] = [];
    found.resolve({ changed: (_agent, event) => void told.push(event), close: () => undefined });
    await expect.poll(() => told).toEqual([undefined, ...events]);
  });

  it("there is none where only the project's settings name one", async () => {
    const world = await agentWorld({ responder: playing(says("Hello.")) });
    await mkdir(join(world.work, ".palimpsest"));
    const statusLine = { type: "command", command: "touch ran" };
    await writeFile(join(world.work, ".palimpsest", "settings.json"), JSON.stringify({ statusLine }));
    expect(await (await backOf(world)).statusline(() => undefined)).toBeUndefined();
  });
});
