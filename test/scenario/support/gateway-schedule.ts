import { deepEqual, ok } from "node:assert/strict";
import { mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "../../../packages/palimpsest/src/schema/json.ts";
import { serveSimulator, type RunningServer } from "../../../packages/simulator/src/http/serve-simulator.ts";
import { createRandom, type Random } from "../../../packages/simulator/src/random.ts";
import type { MoveBlock, Responder } from "../../../packages/simulator/src/responder/responder.ts";
import { realClock } from "../../../packages/simulator/src/simulator-clock.ts";
import { Simulator } from "../../../packages/simulator/src/simulator.ts";
import { GatewayProcesses } from "./gateway-process.ts";
import { type GotReply, post, readContent } from "./messages-client.ts";
import { fileDeps } from "./project.ts";
import { chooseTrouble, type Trouble, troubleName } from "./gateway-trouble.ts";
import { describe, flatten, recall, readTranscript } from "./transcript-messages.ts";

const model = "claude-sonnet-5-5";

interface ScheduleOptions {
  readonly seed: number;
  readonly rounds: number;
  readonly gateways: GatewayProcesses;
}

/** What happened in schedules, for the numbers. */
export interface ScheduleReport {
  /** Each with its seed. */
  readonly failures: string[];
  schedules: number;
  tries: number;
  requests: number;
  replies: number;
  recalls: number;
  /** Requests of the gateway for a client that had gone. */
  late: number;
  /** Requests that were smaller than the client's list. */
  reduced: number;
  kills: number;
  failedOpen: number;
  /** Tries in which something was to go wrong: a reply may have ended before that. */
  readonly triesByTrouble: Record<string, number>;
  /** How often it did. Of the store: each write that failed or waited. */
  readonly struckByTrouble: Record<string, number>;
}

/** Runs the schedules of these seeds, one after the other in each of the lanes. */
export async function runSchedules(options: {
  readonly seeds: readonly number[];
  readonly rounds: number;
  readonly lanes: number;
}): Promise<ScheduleReport> {
  const { seeds, rounds, lanes } = options;
  const numbers = {
    schedules: 0,
    tries: 0,
    requests: 0,
    replies: 0,
    recalls: 0,
    late: 0,
    reduced: 0,
    kills: 0,
    failedOpen: 0,
  };
  const report: ScheduleReport = { ...numbers, failures: [], triesByTrouble: {}, struckByTrouble: {} };
  const waiting = [...seeds];
  const runLane = async (): Promise<void> => {
    const gateways = new GatewayProcesses();
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
      report.schedules += 1;
      await runSchedule({ seed, rounds, gateways }, report).catch((error: unknown) => {
        report.failures.push(`schedule ${seed}: ${error instanceof Error ? error.message : String(error)}`);
      });
    }
    report.kills += gateways.kills;
    for (const event of gateways.events)
      if (event.kind === "failed-open") report.failedOpen += 1;
      else if (event.kind === "struck") count(report.struckByTrouble, `store ${event.fault}`);
      else report.failures.push(event.message);
    gateways.end();
  };
  await Promise.all(Array.from({ length: lanes }, runLane));
  return report;
}

/**
 * An agent of some rounds whose requests meet faults, and which retries them as they are. Its replies are those of the
 * upstream without the gateway's own calls; the upstream is always shown the agent's whole list; the transcript is the
 * agent's list, once.
 */
async function runSchedule(options: ScheduleOptions, report: ScheduleReport): Promise<void> {
  const schedule = new Schedule(options, report);
  await schedule.open();
  try {
    for (let round = 1; round <= options.rounds; round += 1) await schedule.round(round === options.rounds);
    await schedule.checkTranscript();
  } finally {
    await schedule.close();
  }
}

class Schedule {
  readonly #random: Random;
  readonly #options: ScheduleOptions;
  readonly #report: ScheduleReport;
  readonly #list: JsonObject[] = [{ role: "user", content: "task 0: go on until you are done" }];
  /** What the upstream said in this try. */
  #said: (readonly MoveBlock[])[] = [];
  /** The same of the try before, if its client went away: the gateway may notice that late, and have gone on. */
  #saidBefore: readonly (readonly MoveBlock[])[] = [];
  /** Requests of this try. */
  #requests = 0;
  #trouble: Trouble = { kind: "none" };
  #number = 0;
  #isLastRound = false;
  #kill: Promise<void> | undefined;
  #kills = 0;
  #wrong: string | undefined;
  #upstream: RunningServer | undefined;
  #folder = "";
  #url = "";
  readonly #form: "stream" | "whole";
  /** In a small window with large results the gateway has to clear some; in the other it changes nothing. */
  readonly #window: "small" | "large";

  constructor(options: ScheduleOptions, report: ScheduleReport) {
    this.#options = options;
    this.#report = report;
    this.#random = createRandom(options.seed);
    this.#form = this.#random() < 0.75 ? "stream" : "whole";
    this.#window = this.#random() < 0.5 ? "small" : "large";
  }

  async open(): Promise<void> {
    this.#folder = await mkdtemp(join(tmpdir(), "schedule-"));
    const responder: Responder = {
      name: "worker",
      respond: ({ request: { messages, tools } }) => this.#respond({ messages, tools: tools ?? [] }),
    };
    const upstream = await serveSimulator(new Simulator({ responder, seed: this.#options.seed, clock: realClock() }), {
      port: 0,
    });
    if (upstream.kind === "failed") throw new Error(upstream.message);
    this.#upstream = upstream;
    await this.#openGateway();
  }

  async close(): Promise<void> {
    await this.#kill;
    await this.#options.gateways.close().catch(() => undefined);
    await this.#upstream?.close();
  }

  /** One request, tried until it is answered, and what the agent does with the reply. */
  async round(isLast: boolean): Promise<void> {
    this.#isLastRound = isLast;
    const body = JSON.stringify({
      model,
      max_tokens: 1_000,
      stream: this.#form === "stream",
      tools: [{ name: "read", description: "Reads.", input_schema: { type: "object" } }],
      messages: this.#list,
    });
    for (let tries = 0; tries < triesMax; tries += 1) {
      this.#trouble = isLast || tries > triesMax / 2 ? { kind: "none" } : chooseTrouble(this.#random);
      const content = await this.#try(body);
      if (content !== undefined) {
        this.#checkReply(content);
        this.#take(content);
        return;
      }
      if (this.#trouble.kind === "none") throw new Error(`a try without trouble failed: ${this.#lastGot}`);
    }
    throw new Error("too many tries");
  }

  #lastGot = "";
  /** The troubles so far, for the message of a failure. */
  readonly #story: string[] = [];

  async #try(body: string): Promise<readonly JsonObject[] | undefined> {
    const trouble = this.#trouble;
    const { gateways } = this.#options;
    this.#report.tries += 1;
    count(this.#report.triesByTrouble, troubleName(trouble));
    this.#said = [];
    this.#requests = 0;
    this.#story.push(JSON.stringify(trouble));
    if (trouble.kind === "restart") {
      this.#strike();
      await gateways.close();
      await this.#openGateway();
    }
    if (trouble.kind === "store") gateways.fail(trouble.fault);
    const isTimed = trouble.kind === "kill" && trouble.at === "moment";
    const timer = isTimed ? setTimeout(() => this.#killGateway(), trouble.after) : undefined;
    const got = await post(this.#url, {
      body,
      cut: trouble.kind === "client" ? trouble.cut : undefined,
      onChunk: (count) => {
        if (trouble.kind === "kill" && trouble.at === "chunk" && count > trouble.after) this.#killGateway();
      },
    });
    // A late one would strike the next gateway.
    clearTimeout(timer);
    if (trouble.kind === "client" && got.end === "broken") this.#strike();
    if (trouble.kind === "kill") {
      if (got.end === "broken") this.#strike();
      this.#killGateway();
      await this.#kill;
      this.#kill = undefined;
      await this.#openGateway();
    }
    if (trouble.kind === "store") gateways.fail({ kind: "none" });
    this.#saidBefore = trouble.kind === "client" ? this.#said : [];
    if (this.#wrong !== undefined) throw new Error(this.#wrong);
    this.#lastGot = `${got.status} ${got.end} ${got.bytes.toString("utf8").slice(0, 500)}`;
    this.#checkStatus(got);
    return readContent(got);
  }

  #strike(): void {
    count(this.#report.struckByTrouble, troubleName(this.#trouble));
  }

  #killGateway(): void {
    if (this.#kill === undefined) this.#kills += 1;
    this.#kill ??= this.#options.gateways.kill();
  }

  async #openGateway(): Promise<void> {
    const upstream = this.#upstream?.url ?? "";
    const contextTokens = this.#window === "small" ? smallWindowTokens : undefined;
    this.#url = await this.#options.gateways.open({ folder: this.#folder, upstream, contextTokens });
  }

  /** Says what no other reply says, and calls tools, also the gateway's. */
  #respond(request: { readonly messages: readonly object[]; readonly tools: readonly object[] }) {
    const trouble = this.#trouble;
    this.#report.requests += 1;
    this.#number += 1;
    const n = this.#number;
    if (this.#isLate(request.messages)) {
      // Nobody may get this reply: it is none of those that this try can have.
      this.#report.late += 1;
      return { move: { kind: "say", blocks: [{ type: "text", text: `late reply ${n}` }] } as const };
    }
    const nth = this.#requests;
    this.#requests += 1;
    this.#checkSent(request.messages);
    const blocks = this.#moveBlocks(n, { canRecall: hasRecall(request.tools), nth });
    if (trouble.kind === "kill" && trouble.at === "request" && nth === trouble.after) this.#killGateway();
    if (trouble.kind === "refusal" && trouble.nth === nth) {
      this.#strike();
      return { move: { kind: "refuse", refusal: trouble.refusal } as const };
    }
    const fault = trouble.kind === "upstream" && trouble.nth === nth ? trouble.fault : undefined;
    if (fault !== undefined) this.#strike();
    if (fault === undefined || !silentFaults.has(fault.kind)) this.#said.push(blocks);
    return { move: { kind: "say", blocks } as const, ...(fault === undefined ? {} : { fault }) };
  }

  #moveBlocks(n: number, { canRecall, nth }: { readonly canRecall: boolean; readonly nth: number }): MoveBlock[] {
    const text: MoveBlock = { type: "text", text: `reply ${n}: ein schönes Stück, 終わり` };
    const call = (k: number): MoveBlock => ({ type: "tool_use", name: "read", input: { n, k }, id: `toolu_${n}_${k}` });
    const own: MoveBlock = {
      type: "tool_use",
      name: recall,
      input: { query: `"reply ${n - 1}"` },
      id: `toolu_own_${n}`,
    };
    if (this.#isLastRound) return [text];
    const chance = this.#random();
    if (canRecall && chance < 0.38) this.#report.recalls += 1;
    if (canRecall && chance < 0.15 && nth < 3) return [text, own];
    if (canRecall && chance < 0.25 && nth < 3) return [own];
    if (canRecall && chance < 0.32) return [text, own, call(1)];
    if (canRecall && chance < 0.38) return [text, call(1), own, call(2)];
    if (chance < 0.5) return [text];
    return chance < 0.8 ? [text, call(1)] : [text, call(1), call(2)];
  }

  /**
   * The upstream must always be shown the agent's whole list, and nothing else but the gateway's own calls and what was
   * said with them.
   */
  #checkSent(messages: readonly object[]): void {
    const [sent, list] = this.#flattenSent(messages);
    if (/Old tool result cleared|The conversation was compacted/.test(JSON.stringify(messages)))
      this.#report.reduced += 1;
    if (!isListWith(list, { sent, said: [[], ...spoken(this.#said)] }))
      this.#wrong ??= `${this.#story.join("\n")}\nthe upstream was shown\n${sent.join("\n")}\ninstead of\n${list.join("\n")}`;
  }

  #flattenSent(messages: readonly object[]): readonly [readonly string[], readonly string[]] {
    const results = this.#window === "small" ? "by-id" : "whole";
    return [flatten(messages, results), flatten(this.#list, results)];
  }

  /** A request with the results of own calls of the try before. */
  #isLate(messages: readonly object[]): boolean {
    const [sent, list] = this.#flattenSent(messages);
    const isNow = isListWith(list, { sent, said: [[], ...spoken(this.#said)] });
    return !isNow && isListWith(list, { sent, said: spoken(this.#saidBefore) });
  }

  #checkStatus({ status, headers, bytes }: GotReply): void {
    const isMeant = this.#trouble.kind === "refusal" && bytes.includes(this.#trouble.refusal.message);
    if ((status === 400 && !isMeant) || (status === 500 && headers["x-palimpsest-error"] !== undefined))
      throw new Error(`refused: ${bytes.toString("utf8").slice(0, 500)}`);
  }

  /** It is the end of what the upstream said in this try, without own calls. */
  #checkReply(content: readonly JsonObject[]): void {
    this.#report.replies += 1;
    const got = JSON.stringify(content.map(describe));
    ok(
      spoken(this.#said).some((said) => JSON.stringify(said) === got),
      `${this.#story.join("\n")}\nthe client got ${got}`,
    );
  }

  #take(content: readonly JsonObject[]): void {
    const calls = content.filter((block) => block["type"] === "tool_use");
    this.#list.push({ role: "assistant", content: [...content] });
    const results = calls.map((call): JsonObject => ({
      type: "tool_result",
      tool_use_id: call["id"] ?? "",
      content: `result of ${JSON.stringify(call["input"])}${this.#window === "small" ? largeText : ""}`,
    }));
    if (this.#isLastRound) return;
    this.#list.push({ role: "user", content: calls.length > 0 ? results : `task ${this.#number}: go on` });
  }

  async checkTranscript(): Promise<void> {
    await this.#options.gateways.close();
    const deps = fileDeps(join(this.#folder, "sessions"));
    const sessions = (await readdir(join(this.#folder, "sessions"))).filter((name) => name.endsWith(".jsonl"));
    const ownSessions: (readonly string[])[] = [];
    const [, , ...later] = this.#list;
    for (const name of sessions) {
      const { messages, damage } = await readTranscript(deps, name.replace(".jsonl", ""));
      // A kill may cut the line that is being written: what it said comes again with the client's retry.
      const cut = damage.filter(({ kind }) => kind === "torn" || kind === "json");
      ok(cut.length <= this.#kills, `${cut.length} lines are cut, by ${this.#kills} kills`);
      deepEqual(
        damage.filter((one) => !cut.includes(one)),
        [],
      );
      const said = flatten(messages);
      // A client that went away before it read its first reply, when all of that was written: its next try is a run of its own.
      if (flatten(later.slice(0, 1)).some((block) => said.includes(block))) ownSessions.push(said);
    }
    deepEqual(ownSessions, [flatten(this.#list)], this.#story.join("\n"));
  }
}

/** What the last of these replies said together, without own calls: the last one, the last two … */
const spoken = (said: readonly (readonly MoveBlock[])[]): readonly (readonly string[])[] =>
  said.map((_, from) =>
    said
      .slice(from)
      .flat()
      .filter((block) => block.type !== "tool_use" || block.name !== recall)
      .map((block) => describe({ ...block })),
  );

/** Is what was sent the list, or the end of it behind a summary, and behind that one of these? */
function isListWith(
  list: readonly string[],
  { sent, said }: { readonly sent: readonly string[]; readonly said: readonly (readonly string[])[] },
): boolean {
  const isSummarised = sent[0]?.includes("The conversation was compacted") === true;
  return said.some((one) => {
    const whole = [...list, ...one.map((block) => `assistant ${block}`)];
    // A summary stands for the beginning: the rest must be the end.
    const rest = isSummarised ? sent.slice(1) : sent;
    const expected = isSummarised ? whole.slice(whole.length - rest.length) : whole;
    return JSON.stringify(expected) === JSON.stringify(rest);
  });
}

function count(times: Record<string, number>, name: string): void {
  times[name] = (times[name] ?? 0) + 1;
}

/** Faults that leave nothing of a reply. */
const silentFaults: ReadonlySet<string> = new Set(["overloaded", "rate-limit", "server-error", "timeout", "reset"]);

const triesMax = 12;

const smallWindowTokens = 16_000;
/** With some of these a round, the small window is full after three or four. */
const largeText = ` ${"and what else was found there, ".repeat(250)}`;

const hasRecall = (tools: readonly object[]): boolean => tools.some((tool) => "name" in tool && tool.name === recall);
