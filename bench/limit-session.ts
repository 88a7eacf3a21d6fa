import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Agent } from "../packages/cli/src/agent/agent.ts";
import { openAgent } from "../packages/cli/src/agent/open-agent.ts";
import { openWorkspace } from "../packages/cli/src/host/workspace.ts";
import type { ProjectStore } from "../packages/cli/src/host/project-store.ts";
import { breakerFailuresMax } from "../packages/palimpsest/src/context/compact/limits.ts";
import { breakerDraft } from "../packages/palimpsest/src/context/compact/breaker-state.ts";
import { sessionId } from "../packages/palimpsest/src/schema/brand.ts";
import type { ResolvedSettings } from "../packages/palimpsest/src/settings/resolved-settings.ts";
import { estimateBlock } from "../packages/palimpsest/src/tokens/estimate-block.ts";
import { parsed } from "./parsed-line.ts";
import { ProjectLog } from "./project-log.ts";

const model = "claude-sonnet-5-5";
/** Clearing is off: the bench measures the last resort, when nothing else helps. */
const off = ["clear.size", "clear.idle", "clear.cacheEdits"];

/** A temporary folder with sessions of project work, each over the limit beyond which no request can be sent. */
export class LimitSessions {
  readonly windowTokens: number;
  readonly #base: string;
  readonly #lines: readonly string[];
  #count = 0;

  private constructor(base: string, windowTokens: number) {
    this.#base = base;
    this.windowTokens = windowTokens;
    this.#lines = linesOf(windowTokens);
  }

  static async make(windowTokens: number): Promise<LimitSessions> {
    const base = await mkdtemp(join(tmpdir(), "palimpsest-bench-"));
    await mkdir(join(base, "work"));
    return new LimitSessions(base, windowTokens);
  }

  remove(): Promise<void> {
    return rm(this.#base, { recursive: true, force: true });
  }

  get entries(): number {
    return this.#lines.length;
  }

  get #options() {
    const env = { PATH: process.env["PATH"], PALIMPSEST_HOME: join(this.#base, "home") };
    const flags = [
      { flag: "model", text: model },
      { flag: "context-tokens", text: String(this.windowTokens) },
      ...off.map((text) => ({ flag: "off", text })),
    ];
    return { env, cwd: join(this.#base, "work"), flags };
  }

  async deps(): Promise<ProjectStore> {
    const project = await openWorkspace(this.#options).project();
    if (project.kind === "failed") throw new Error(project.message);
    return project.deps;
  }

  async settings(): Promise<ResolvedSettings> {
    const { resolved } = await openWorkspace(this.#options).settings({ flags: this.#options.flags, model });
    return resolved;
  }

  /** Writes the same session as a new one to disk and opens it. No model answers, and the breaker is open. */
  async open(): Promise<Agent> {
    const id = sessionId(`00000000-0000-4000-9000-${String(this.#count).padStart(12, "0")}`);
    this.#count += 1;
    const created = await (await this.deps()).transcripts.create(id);
    if (created.kind !== "open") throw new Error(created.kind);
    const written = await created.writer.append(this.#lines);
    await created.writer.close();
    if (written.kind === "failed") throw new Error(written.message);
    const agent = await openAgent({
      ...this.#options,
      version: "0.0.0",
      session: { kind: "resume", id },
      model: { kind: "none", message: "no model answers here" },
      tools: { mode: "bypass", allow: [], deny: [] },
    });
    if (agent.kind !== "agent") throw new Error(JSON.stringify(agent));
    await agent.session.append(breakerDraft(breakerFailuresMax));
    return agent;
  }
}

/** Lines of project work with at least this many tokens. */
export function linesOf(windowTokens: number): readonly string[] {
  const log = new ProjectLog();
  const lines: string[] = [];
  for (let tokens = 0; tokens < windowTokens;)
    for (const line of log.round()) {
      lines.push(line);
      const { entry } = parsed(line);
      if ("blocks" in entry) tokens += entry.blocks.reduce((sum, block) => sum + estimateBlock(block), 0);
    }
  return lines;
}
