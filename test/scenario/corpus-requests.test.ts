import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { existsSync, globSync } from "node:fs";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import { adoptOnce } from "../../packages/palimpsest/src/session/adopt-once.ts";
import { openSession } from "../../packages/palimpsest/src/session/session.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { testAgent } from "../fixture/agent.ts";

const corpus = resolve(import.meta.dirname, "../..", process.env["PALIMPSEST_CORPUS"] ?? "../shared/corpus");
const agents = ["claude-code", "codex", "pi", "opencode", "copilot", "gemini", "swe-agent", "openhands"];
const files = existsSync(corpus)
  ? agents.flatMap((agent) => globSync(`${agent}*/**/*.{json,jsonl,traj}`, { cwd: corpus })).toSorted()
  : [];

/** Every recorded session, taken over and gone on with against the strict simulator. */
describe.skipIf(files.length === 0)("recorded sessions (needs the corpus)", () => {
  it("can all be gone on with: not one request is refused", async () => {
    const home = await mkdtemp(join(tmpdir(), "corpus-requests-"));
    const workspace = openWorkspace({ env: { PALIMPSEST_HOME: home }, cwd: home, durability: "never" });
    const project = await workspace.project();
    if (project.kind === "failed") expect.unreachable(project.message);
    const { deps } = project;
    let images = 0;
    const simulator = new Simulator({
      responder: {
        name: "counting",
        respond: ({ request }) => {
          images += JSON.stringify(request.messages).match(/"type":"image","source"/g)?.length ?? 0;
          return { move: { kind: "say", blocks: [{ type: "text", text: "Done." }] } };
        },
      },
    });
    const ends = new Map<string, number>();
    const refused: string[] = [];
    for (const file of files) {
      const log = await workspace.resolveLog(join(corpus, file));
      if (log.kind !== "foreign" || log.format === undefined) continue;
      const adopted = await adoptOnce(deps, { path: log.path, format: log.format, source: log.source });
      await log.source.close();
      if (adopted.kind !== "open") continue;
      const { id } = adopted.writer;
      await adopted.writer.close();
      const opened = await openSession(deps, { id, mode: "resume", circumstances: { cwd: home, version: "test" } });
      if (opened.kind !== "open") expect.unreachable();
      const events = await testAgent({ deps, session: opened.session, simulator }).turn("Go on, please.");
      const end = events.at(-1);
      const reason = end?.kind === "turn-end" ? end.reason : "none";
      ends.set(reason, (ends.get(reason) ?? 0) + 1);
      if (reason !== "answered") refused.push(`${file}: ${end?.kind === "turn-end" ? end.message : ""}`.slice(0, 200));
      await opened.session.close();
    }
    expect(refused).toEqual([]);
    expect(ends.get("answered")).toBeGreaterThan(30);
    // Otherwise nothing would be seen of how they are sent.
    expect(images).toBeGreaterThan(0);
  });
});
