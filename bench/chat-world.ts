import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWorkspace } from "../packages/cli/src/host/workspace.ts";
import { sessionId } from "../packages/palimpsest/src/schema/brand.ts";
import { chatProgram, isPromptShown } from "../test/terminal/chat-program.ts";
import { openTerminal, type Terminal } from "../test/terminal/terminal.ts";
import { linesOf } from "./limit-session.ts";

/** A home and a project of its own, in which real chats are opened on a real pseudo-terminal. */
export class ChatWorld {
  readonly #base: string;

  private constructor(base: string) {
    this.#base = base;
  }

  /** Removed behind `act`, however that ends. */
  static async during<Result>(act: (world: ChatWorld) => Promise<Result>): Promise<Result> {
    const base = await realpath(await mkdtemp(join(tmpdir(), "palimpsest-bench-")));
    try {
      await mkdir(join(base, "work"));
      return await act(new ChatWorld(base));
    } finally {
      await rm(base, { recursive: true, force: true, maxRetries: 3 });
    }
  }

  get work(): string {
    return join(this.#base, "work");
  }

  /** Started, and not waited for. */
  start(...args: readonly string[]): Terminal {
    const [home, cache] = [join(this.#base, "home"), join(this.#base, "cache")];
    return openTerminal({ ...chatProgram({ home, cwd: this.work, cache, args }), columns: 120, rows: 40 });
  }

  /** A chat with its session open: the prompt is there before. `act` ends it. */
  async chat<Result>(args: readonly string[], act: (chat: Terminal) => Promise<Result>): Promise<Result> {
    const chat = this.start(...args);
    try {
      await chat.waitFor(isPromptShown);
      await chat.waitFor("% left");
      return await act(chat);
    } finally {
      await chat.close();
    }
  }

  /** Work on a project, as a session on disk. Gives its id. */
  async session(tokens: number): Promise<string> {
    const id = sessionId("00000000-0000-4000-9000-000000000001");
    const env = { PATH: process.env["PATH"], PALIMPSEST_HOME: join(this.#base, "home") };
    const project = await openWorkspace({ env, cwd: this.work }).project();
    if (project.kind === "failed") throw new Error(project.message);
    const created = await project.deps.transcripts.create(id);
    if (created.kind !== "open") throw new Error(created.kind);
    const written = await created.writer.append(linesOf(tokens));
    await created.writer.close();
    if (written.kind === "failed") throw new Error(written.message);
    return id;
  }
}

/** The size that is promised to be fast. */
export const sessionTokens = 200_000;
