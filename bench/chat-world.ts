import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWorkspace } from "../packages/cli/src/host/workspace.ts";
import { sessionId } from "../packages/palimpsest/src/schema/brand.ts";
import { chatProgram, isPromptShown } from "../test/terminal/chat-program.ts";
import { openTerminal, type Terminal } from "../test/terminal/terminal.ts";
import { linesOf } from "./limit-session.ts";

/** A temporary home and project, in which real chats are opened on a real pseudo-terminal. */
export class ChatWorld {
  readonly #base: string;

  private constructor(base: string) {
    this.#base = base;
  }

  /** Removes the folder after `act`, even if it rejects. */
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

  /** Starts a chat without waiting for its prompt. */
  start(...args: readonly string[]): Terminal {
    const [home, cache] = [join(this.#base, "home"), join(this.#base, "cache")];
    return openTerminal({ ...chatProgram({ home, cwd: this.work, cache, args }), columns: 120, rows: 40 });
  }

  /** Runs `act` on a chat whose session is open, which is later than its prompt appears; closes the chat afterwards. */
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

  /** Writes a session of project work to disk, and returns its id. */
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

/** The size for which the docs promise speed. */
export const sessionTokens = 200_000;
