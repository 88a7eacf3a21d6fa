import { createHash } from "node:crypto";
import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEngine, type EngineDeps } from "../../engine.ts";
import { appendBoundary } from "../../loop/boundary.ts";
import { expand } from "../../loop/expand.ts";
import { openSession, type Edited, type Session } from "../../loop/session.ts";
import { undo } from "../../loop/undo.ts";
import { messageId, type SessionId, sessionId, type ToolUseId, toolUseId } from "../../schema/brand.ts";
import { humanBytes } from "../../schema/human-bytes.ts";
import { blockingTokensDefault } from "../../tokens/limits.ts";
import { estimateShown } from "../../tokens/estimate.ts";
import { resultDraft, replyDraft, userDraft } from "../../transcript/draft.ts";
import { command, type CommandContext } from "../command.ts";
import { agentAtWork } from "../demo/agent-at-work.ts";
import { generatedSession, hugeLog } from "../demo/generated-session.ts";
import { exitCode } from "../exit-code.ts";
import { humanCount } from "../human.ts";
import { receiptText } from "../receipt-text.ts";
import { ownVersion } from "../version.ts";

export const demoCommand = command({
  name: "demo",
  summary: "watch a long session being reduced, and every reduction taken back",
  details: ["Runs without a key and without a model, in a folder of its own that is removed afterwards."],
  run: async (context) => {
    const home = await mkdtemp(join(tmpdir(), "palimpsest-demo-"));
    try {
      const demo = new Demo(context, home);
      await demo.run();
      return demo.surprises === 0 ? exitCode.fine : exitCode.negative;
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  },
});

/** How the command is called from where these sources are: a checkout, or an installed package. */
const me = import.meta.url.endsWith(".ts") ? "bin/palimpsest" : "palimpsest";

const rounds = 60;
const bigResult = toolUseId("toolu_demo_big");

class Demo {
  readonly #context: CommandContext;
  readonly #home: string;
  /** Comparisons that did not come out as promised. */
  surprises = 0;
  #step = 0;

  constructor(context: CommandContext, home: string) {
    this.#context = context;
    this.#home = home;
  }

  async run(): Promise<void> {
    const engine = createEngine({ env: { PALIMPSEST_HOME: this.#home }, cwd: this.#home, durability: "turn" });
    const project = await engine.project();
    if (project.kind === "failed") throw new Error(project.message);
    const { deps } = project;
    await this.#work();
    const id = sessionId("demo-session");
    let session = await this.#open(deps, id, "create");
    await this.#fill(session);
    const original = fingerprint(session);
    await this.#offload(deps, session);
    await this.#clear(session);
    await this.#compact(deps, session);
    session = await this.#crash(deps, session);
    await this.#expand(deps, id);
    await this.#undoAll(session, original);
    await session.close();
    await this.#end();
  }

  async #open(deps: EngineDeps, id: SessionId, mode: "create" | "resume"): Promise<Session> {
    const opened = await openSession(deps, { id, mode, circumstances: { cwd: this.#home, version: ownVersion() } });
    if (opened.kind !== "open") throw new Error(`the demo's session is ${opened.kind}`);
    return opened.session;
  }

  async #work(): Promise<void> {
    await this.#title(
      "An agent at work",
      "real tools on a small project; the model is simulated, its prices and cache are not",
    );
    const { lines, costUsd, hitRate, repaired } = await agentAtWork(this.#home);
    for (const line of lines) await this.#say(line);
    await this.#say(`project   ${repaired ? this.#good("repaired") : this.#bad("STILL BROKEN")}`);
    await this.#say(
      `cost      $${costUsd.toFixed(4)}, ${Math.round(hitRate * 100)}% of the prompts read from the cache`,
    );
  }

  async #fill(session: Session): Promise<void> {
    await this.#title(
      "A long session",
      `${rounds} rounds of an agent at work, written to a real transcript, entry by entry`,
    );
    await session.append(...generatedSession(rounds));
    const call = { type: "tool_use", id: bigResult, name: "Bash", input: { command: "cat access.log" } } as const;
    await session.append(
      replyDraft({ id: messageId("msg_demo_big"), model: "demo", content: [call] }),
      resultDraft({ toolUse: bigResult, content: hugeLog() }),
    );
    await session.append(userDraft("Which day is slowest?"));
    await this.#viewLine(session);
  }

  async #offload(deps: EngineDeps, session: Session): Promise<void> {
    await this.#title("Offload", "a 200 KB tool result goes to disk; the model keeps a preview and the id");
    const text = hugeLog();
    const stored = await deps.blobs.put(new TextEncoder().encode(text));
    if (stored.kind === "failed") throw new Error(stored.message);
    const shown = `<persisted-output>\n${humanBytes(text.length)} in all; the whole text has the id ${bigResult}.\n${text.slice(0, 120)}\n…\n</persisted-output>`;
    const results = [{ toolUse: bigResult, blob: stored.id, media: "text", bytes: text.length, shown }];
    await this.#receipt(
      await session.edit({ drafts: [{ type: "offload", results }], cause: "size", nature: "reduced" }),
    );
  }

  async #clear(session: Session): Promise<void> {
    await this.#title("Clear", "results of the first 40 rounds are stale; each leaves one line");
    const stale: ToolUseId[] = Array.from({ length: 40 }, (_, at) =>
      toolUseId(`toolu_demo_${String(at).padStart(4, "0")}`),
    );
    const results = stale.map((toolUse) => ({
      toolUse,
      shown: `[Old tool result cleared; recall ${toolUse} brings it back]`,
    }));
    await this.#receipt(
      await session.edit({
        drafts: [{ type: "clear", results, attachments: [], cause: "price" }],
        cause: "price",
        nature: "reduced",
      }),
    );
  }

  async #compact(deps: EngineDeps, session: Session): Promise<void> {
    await this.#title("Compact", "a boundary: one summary stands for everything but the last exchange");
    const items = session.fold.projection.items;
    const head = items.at(-3);
    const tail = items.at(-1);
    if (head === undefined || tail === undefined) throw new Error("the demo's session is empty");
    const summary =
      "The user asked for: the Sunday build (fixed), stricter dates (done), leap-year tests (done), a changelog line (done). Open: which day is slowest?";
    await this.#receipt(
      await appendBoundary(deps, session, { summary, trigger: "manual", kept: { head: head.entry, tail: tail.entry } }),
    );
    await this.#viewLine(session);
  }

  async #crash(deps: EngineDeps, session: Session): Promise<Session> {
    await this.#title(
      "Crash",
      "the machine dies in the middle of a write; the next start repairs it and loses nothing",
    );
    const before = fingerprint(session);
    const path = deps.transcripts.whereIs(session.id);
    await session.close();
    if (path !== undefined) await appendFile(path, '{"type":"user","message":{"role":"user","cont');
    const opened = await openSession(deps, {
      id: session.id,
      mode: "resume",
      circumstances: { cwd: this.#home, version: ownVersion() },
    });
    if (opened.kind !== "open") throw new Error(`the demo's session is ${opened.kind}`);
    const { read } = opened.session;
    const torn = opened.setAside;
    await this.#say(`torn line bytes ${torn?.start}–${torn?.end} set aside, nothing before them touched`);
    await this.#say(
      `reopened  by reading ${humanBytes(read.bytes)} of ${humanBytes(read.of)}, from the ${read.from} on`,
    );
    await this.#say(
      `view      ${fingerprint(opened.session) === before ? this.#good("byte-identical to before the crash") : this.#bad("DIFFERENT")}`,
    );
    return opened.session;
  }

  async #expand(deps: EngineDeps, id: SessionId): Promise<void> {
    await this.#title("Expand", "what the model no longer sees can be had back by its id");
    const source = await deps.transcripts.openForReading(id);
    if (source === undefined) throw new Error("the demo's session is gone");
    const expanded = await expand(deps, source, bigResult);
    await source.close();
    const exact = "bytes" in expanded && new TextDecoder().decode(expanded.bytes) === hugeLog();
    await this.#say(
      `original  ${exact ? this.#good(`${bigResult}: ${humanBytes(hugeLog().length)}, byte for byte`) : this.#bad("DIFFERENT")}`,
    );
  }

  async #undoAll(session: Session, original: string): Promise<void> {
    await this.#title("Undo", "every edit is an entry in the log, so every edit can be taken back");
    for (let count = 0; count < 3; count += 1) {
      const undone = await undo(session, { mode: "path", blockingTokens: blockingTokensDefault, thinking: "free" });
      if (undone.kind !== "undone") throw new Error(`undo: ${undone.kind}`);
      const tokens = humanCount(undone.receipts.at(-1)?.tokensAfter ?? 0);
      await this.#say(`undone    ${undone.edits.map((edit) => edit.edit.type).join(", ")}: ${tokens} tokens`);
    }
    await this.#say(
      `view      ${fingerprint(session) === original ? this.#good("byte-identical to the view before the first edit") : this.#bad("DIFFERENT")}`,
    );
  }

  async #end(): Promise<void> {
    await this.#context.out.write(
      [
        "",
        "You saw an agent at work, a transcript that only grows, a view that is a projection of it, three edits with their receipts,",
        "a repair after a crash, and the way back. Try it on a session of yours:",
        "",
        `  ${me} view <a Claude Code transcript.jsonl>     the exact request the model would get`,
        `  ${me} sessions fsck <transcript.jsonl>          is it whole?`,
        `  ${me} --help                                    everything else`,
        "",
      ].join("\n"),
    );
  }

  async #title(name: string, text: string): Promise<void> {
    this.#step += 1;
    const { out } = this.#context;
    await out.write(`\n${out.style("bold", `${this.#step}  ${name}`)}  ${out.style("dim", text)}\n`);
  }

  async #viewLine(session: Session): Promise<void> {
    const view = session.view();
    const tokens = estimateShown(session.fold.shown().values());
    await this.#say(
      `view      ${view.messages.length} messages, about ${humanCount(tokens)} tokens, ${view.sendable ? "sendable" : "not sendable"}`,
    );
  }

  async #receipt(edited: Edited): Promise<void> {
    if (edited.kind === "failed") throw new Error(edited.message);
    await this.#context.out.write(receiptText(edited.receipt, this.#context.out.style));
  }

  #say = (line: string): Promise<void> => this.#context.out.write(`  ${line}\n`);
  #good = (text: string): string => this.#context.out.style("green", text);
  #bad = (text: string): string => {
    this.surprises += 1;
    return this.#context.out.style("red", text);
  };
}

const fingerprint = (session: Session): string =>
  createHash("sha256").update(JSON.stringify(session.view().messages)).digest("hex");
