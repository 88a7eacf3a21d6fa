import { contextDraft } from "../context/inputs.ts";
import { agentCostDraft } from "../context/past-costs.ts";
import type { HookDeps, WaitDep } from "../context/deps.ts";
import type { CostLedger } from "../cache/cost-ledger.ts";
import { endedAgentsMax } from "../layers/7-agents/limits.ts";
import { forkType, planAgent } from "../layers/7-agents/plan.ts";
import { askerGoneText, closingText, lostAgentsText, parentGoneText } from "../layers/7-agents/agent-texts.ts";
import { renderReport } from "../layers/7-agents/render-report.ts";
import type { AgentConversation, AgentHost, AgentSpec } from "../ports/agent-host.ts";
import type { Agents, AgentText, SendToAgentOutcome, StartAgentOutcome } from "../ports/agents.ts";
import type { ClockDep, IdsDep } from "../ports/clock-dep.ts";
import { type AgentRequest, type AgentRun, mainName } from "../schema/agent-run.ts";
import { type AgentId, nanoUsd, newAgentId, type NanoUsd } from "../schema/brand.ts";
import { raceAbort } from "../schema/race-abort.ts";
import type { Session } from "../session/session.ts";
import type { Draft } from "../transcript/draft.ts";
import { messageDraft, newestReply, reportDraft } from "./agent-drafts.ts";
import { fireAgentStart, fireAgentStop } from "./agent-hooks.ts";
import { lostRun, readRecords, recordsDraft, toRecord } from "./agent-records.ts";
import { AgentWorker, type Asker, closeConversation, endedAt, newUsage, type WorkerTurn } from "./agent-worker.ts";
import { bookingsMax } from "./limits.ts";
import { follower, Stagger } from "./stagger.ts";

export interface SessionAgentsDeps extends ClockDep, IdsDep, WaitDep, HookDeps {
  readonly host: AgentHost;
  /** What all agents of the session may cost; undefined: no limit. Read at each start and payment. */
  readonly moneyMax: () => NanoUsd | undefined;
  /** Called with each change of an agent. Must not throw. */
  readonly onChange?: ((run: AgentRun) => void) | undefined;
}

interface SessionAgentsInput {
  /** The main conversation's. Costs are booked in its log. */
  readonly session: Pick<Session, "id" | "fold" | "append">;
  readonly costs: CostLedger;
}

/**
 * All agents of a session: those of its main conversation and theirs.
 *
 *   start ──▶ running ──its turn ends──▶ hooks, messages, agents of its own: another turn ──▶ ended ──▶ its parent is told
 *   ended, lost ──a message──▶ running: the transcript is opened again
 *
 * Ended agents are closed: nothing of them stays but a line in the list and their transcript.
 */
export class SessionAgents {
  readonly #deps: SessionAgentsDeps;
  readonly #session: SessionAgentsInput["session"];
  readonly #costs: CostLedger;
  readonly #workerById = new Map<AgentId, AgentWorker>();
  readonly #names = new Set<string>();
  /** News for each conversation that has started agents. */
  readonly #newsByAsker = new Map<AgentId | undefined, Draft[]>();
  #newestFork: { readonly point: string; readonly stagger: Stagger } | undefined;
  #isClosed = false;

  constructor(deps: SessionAgentsDeps, { session, costs }: SessionAgentsInput) {
    this.#deps = deps;
    this.#session = session;
    this.#costs = costs;
    const lost = readRecords(session.fold);
    for (const record of lost) this.#add(lostRun(record)).booked = record.booked;
    if (lost.length > 0) this.#news(undefined).push(contextDraft(lostAgentsText(lost)));
  }

  /** The agents as the main conversation sees them. */
  get main(): Agents {
    return this.#agentsFor({ id: undefined, depth: 0, kind: "conversation" });
  }

  /** Books what agents have paid that were lost before it was booked. Must not reject. */
  async bookLost(): Promise<void> {
    for (const worker of this.#workers((run) => run.state.kind === "lost")) {
      const past = await this.#deps.host.read(worker.run.id);
      for (const payment of past?.payments.slice(worker.booked) ?? []) worker.paid(payment);
      await this.#book(worker);
    }
  }

  #agentsFor(asker: Asker): Agents {
    return {
      start: (request) => this.#start(request, asker),
      wait: (id, signal) => this.#wait(id, signal),
      send: (message) => this.#send(message),
      stop: (id) => this.#stop(id, "stopped"),
      list: () => this.#list(asker),
      report: async (id) => (await this.#deps.host.read(id))?.lastReply,
      takeNews: () => this.#news(asker.id).splice(0),
      close: () => this.#close(asker),
    };
  }

  async #start(request: AgentRequest, asker: Asker): Promise<StartAgentOutcome> {
    const types = await this.#deps.host.types();
    if (this.#isClosed) return { kind: "refused", message: closingText };
    if (asker.id !== undefined && !this.#isAtWork(asker.id)) return { kind: "refused", message: askerGoneText };
    const plan = planAgent({ request, types, ...this.#circumstances(), depth: asker.depth, asker: asker.kind });
    if (plan.kind === "refused") return plan;
    return await this.#open({ ...request, type: plan.type }, { asker, name: plan.name });
  }

  async #open(
    request: AgentRequest,
    { asker, name }: { readonly asker: Asker; readonly name: string },
  ): Promise<StartAgentOutcome> {
    const { type, description, place, prompt } = request;
    const depth = asker.depth + 1;
    const id = newAgentId(this.#deps.uuid());
    // All forks of one reply wait for the first of them.
    const stagger = type === forkType ? this.#staggerFor(asker) : undefined;
    const start = { startedAt: this.#deps.now(), state: { kind: "running" }, usage: newUsage } as const;
    const model = request.model ?? "";
    const worker = this.#add({ id, name, type, description, parent: asker.id, depth, place, model, ...start });
    const conversation = await this.#openConversation(worker, { ...request, mode: "new" });
    if (conversation.kind === "refused") {
      this.#workerById.delete(id);
      this.#names.delete(name);
      worker.drop();
      return conversation;
    }
    const context = await fireAgentStart(this.#deps, worker);
    const text = [prompt, ...context].join("\n\n");
    await this.#record();
    void this.#work(worker, { conversation: conversation.conversation, text, stagger });
    return { kind: "started", run: worker.run };
  }

  async #openConversation(
    worker: AgentWorker,
    request: Pick<AgentSpec, "type" | "place" | "worktree" | "model" | "mode">,
  ): ReturnType<AgentHost["open"]> {
    const { id, name, depth, parent } = worker.run;
    const { type, place, worktree, model, mode } = request;
    const kind = type === forkType ? "fork" : "conversation";
    const outcome = await this.#deps.host.open({
      id,
      name,
      depth,
      parent,
      type,
      place,
      worktree,
      model,
      mode,
      agents: this.#agentsFor({ id, depth, kind }),
      takeMail: () => [...worker.mail.splice(0), ...this.#news(id).splice(0)],
      onProgress: (progress) => worker.change({ progress }),
      onPaid: (payment) => {
        worker.paid(payment);
        if (this.#isOverMoney()) for (const running of this.#workers(isRunning)) running.stop("limit");
        if (worker.unbooked.length >= bookingsMax) void this.#book(worker);
      },
    });
    if (outcome.kind === "open")
      worker.change({ model: outcome.conversation.model, worktree: outcome.conversation.worktree });
    return outcome;
  }

  /** From the first turn to the end. Must not reject. */
  async #work(
    worker: AgentWorker,
    {
      conversation,
      text,
      stagger,
    }: {
      readonly conversation: AgentConversation;
      readonly text: string | undefined;
      readonly stagger?: Stagger | undefined;
    },
  ): Promise<void> {
    const pass = stagger === undefined ? follower : await stagger.enter(worker.signal);
    let turn = await worker.turn(conversation, { text, pass });
    for (let stopsBlocked = 0; ;) {
      const more = await this.#more(worker, { turn, conversation, stopsBlocked });
      if (more === undefined) break;
      if (more.text !== undefined) stopsBlocked += 1;
      turn = await worker.turn(conversation, { text: more.text });
    }
    await this.#end(worker, { turn, conversation });
  }

  /** Why it is not over yet: its own agents have something to tell, it has mail, or a hook says so. */
  async #more(
    worker: AgentWorker,
    {
      turn,
      conversation,
      stopsBlocked,
    }: { readonly turn: WorkerTurn; readonly conversation: AgentConversation; readonly stopsBlocked: number },
  ): Promise<{ readonly text: string | undefined } | undefined> {
    if (turn.how !== "answered") return undefined;
    const { id } = worker.run;
    // Those that are lost would never be done.
    const children = this.#workers((run) => run.parent === id && isRunning(run));
    await raceAbort(Promise.all(children.map(({ done }) => done)), { signal: worker.signal, instead: () => [] });
    if (worker.signal.aborted) return undefined;
    if (this.#hasMail(worker)) return { text: undefined };
    const { transcriptPath } = conversation;
    const text = await fireAgentStop(this.#deps, worker, { turn, transcriptPath, stopsBlocked });
    if (worker.signal.aborted) return undefined;
    if (text !== undefined) return { text };
    return this.#hasMail(worker) ? { text: undefined } : undefined;
  }

  #hasMail({ mail, run }: AgentWorker): boolean {
    return mail.length > 0 || this.#news(run.id).length > 0;
  }

  async #end(
    worker: AgentWorker,
    { turn, conversation }: { readonly turn: WorkerTurn; readonly conversation: AgentConversation },
  ): Promise<void> {
    const { id } = worker.run;
    const { how, text } = turn;
    // What the close of the session has stopped can go on when the session is opened again.
    worker.leaving = this.#isClosed && how === "stopped" ? "kept" : "gone";
    // What it has started and does not wait for ends with it.
    await this.#stopAll((run) => run.parent === id);
    const { worktree, failure } = await closeConversation(conversation);
    if (worktree !== undefined) worker.change({ worktree });
    const message = turn.message ?? failure;
    const report = renderReport({ ...worker.run, how, message, report: text });
    await this.#book(worker);
    worker.end({ how, report, at: this.#deps.now() });
    this.#newsByAsker.delete(id);
    const { run } = worker;
    if (run.place === "background" && !this.#isClosed) this.#news(run.parent).push(reportDraft(report));
    this.#forgetOldest();
  }

  async #wait(id: AgentId, signal: AbortSignal): Promise<AgentRun | undefined> {
    const worker = this.#workerById.get(id);
    if (worker === undefined || worker.run.state.kind !== "running") return worker?.run;
    const ended = await raceAbort(worker.done, { signal, instead: () => undefined });
    if (ended !== undefined) return ended;
    await this.#stop(id, "stopped");
    return worker.run;
  }

  async #stop(id: AgentId, why: "stopped" | "limit"): Promise<void> {
    const worker = this.#workerById.get(id);
    if (worker === undefined || worker.run.state.kind === "ended") return;
    if (worker.run.state.kind === "lost") {
      worker.end({ how: "stopped", report: "", at: this.#deps.now() });
      return await this.#record();
    }
    const { done } = worker;
    worker.stop(why);
    await done;
  }

  async #send({ to, text, from }: AgentText): Promise<SendToAgentOutcome> {
    if (to === "*") return this.#sendToAll({ to, text, from });
    const worker = this.#workers(({ id, name }) => id === to || name === to).at(-1);
    if (worker === undefined && to !== mainName)
      return { kind: "unknown", names: this.#workers(() => true).map(({ run }) => run.name) };
    const draft = messageDraft(this.#session, { text, from });
    if (worker === undefined) {
      this.#news(undefined).push(draft);
      return { kind: "main" };
    }
    // Its last turn is over: it goes on with this as soon as it is closed.
    while (worker.leaving !== undefined && isRunning(worker.run)) await worker.done;
    if (isRunning(worker.run)) {
      worker.mail.push(draft);
      return { kind: "queued", run: worker.run };
    }
    return await this.#resume(worker, draft);
  }

  /** Never to the sender itself. */
  #sendToAll({ text, from }: AgentText): SendToAgentOutcome {
    const sender = from.kind === "agent" ? from.name : mainName;
    const receivers = this.#workers((run) => run.name !== sender && this.#isAtWork(run.id));
    const draft = messageDraft(this.#session, { text, from });
    for (const { mail } of receivers) mail.push(draft);
    if (sender !== mainName) this.#news(undefined).push(draft);
    const names = receivers.map(({ run }) => run.name);
    return { kind: "all", names: sender === mainName ? names : [mainName, ...names] };
  }

  async #resume(worker: AgentWorker, draft: Draft): Promise<SendToAgentOutcome> {
    const before = worker.run;
    const { type, place, depth, parent, model } = before;
    if (this.#isClosed) return { kind: "refused", message: closingText };
    // It may do what its parent may and tells its parent what comes of it, so there must be one.
    if (parent !== undefined && !this.#isAtWork(parent))
      return { kind: "refused", message: parentGoneText(before, this.#workerById.get(parent)?.run) };
    const request = { type, place, description: "", prompt: "Go on.", worktree: "shared" } as const;
    // It keeps its name and its place in the tree.
    const known = { types: [type], names: new Set<string>(), depth: depth - 1, asker: "conversation" } as const;
    const plan = planAgent({ request, ...this.#circumstances(), ...known });
    if (plan.kind === "refused") return plan;
    worker.restart({ place: "background" });
    // Before the conversation is open: what others send meanwhile comes behind it.
    worker.mail.push(draft);
    const worktree = before.worktree === undefined ? "shared" : "own";
    const again = { type, place: "background", worktree, mode: "resume" } as const;
    const opened = await this.#openConversation(worker, { ...again, model: type === forkType ? undefined : model });
    if (opened.kind === "refused") {
      worker.mail.splice(worker.mail.indexOf(draft), 1);
      worker.giveBack(before);
      return opened;
    }
    await this.#record();
    void this.#work(worker, { conversation: opened.conversation, text: undefined });
    return { kind: "resumed", run: worker.run };
  }

  #list({ id }: Asker): readonly AgentRun[] {
    return this.#workers((run) => id === undefined || run.parent === id).map(({ run }) => run);
  }

  async #close({ id }: Asker): Promise<void> {
    if (id === undefined) this.#isClosed = true;
    await this.#stopAll((run) => id === undefined || run.parent === id);
  }

  /** Those that run; what is lost stays so. */
  async #stopAll(matches: (run: AgentRun) => boolean): Promise<void> {
    const running = this.#workers((run) => isRunning(run) && matches(run));
    await Promise.all(running.map(({ run }) => this.#stop(run.id, "stopped")));
  }

  #staggerFor({ id }: Asker): Stagger {
    const point =
      id === undefined ? newestReply(this.#session) : `${id} ${this.#workerById.get(id)?.run.usage.requests}`;
    if (this.#newestFork?.point !== point) this.#newestFork = { point, stagger: new Stagger(this.#deps) };
    return this.#newestFork.stagger;
  }

  #circumstances() {
    const spentNanos = this.#costs.toJSON().bySource.agents?.totalNanos ?? nanoUsd(0);
    const running = this.#workers(isRunning).length;
    return { running, names: this.#names, money: { spentNanos, maxNanos: this.#deps.moneyMax() } };
  }

  #isOverMoney(): boolean {
    const { spentNanos, maxNanos } = this.#circumstances().money;
    return maxNanos !== undefined && spentNanos >= maxNanos;
  }

  #add(run: AgentRun): AgentWorker {
    const onChange = (changed: AgentRun): void => this.#deps.onChange?.(changed);
    const worker = new AgentWorker({ run, costs: this.#costs, onChange });
    this.#workerById.set(run.id, worker);
    this.#names.add(run.name);
    return worker;
  }

  #workers(matches: (run: AgentRun) => boolean): readonly AgentWorker[] {
    return [...this.#workerById.values()].filter(({ run }) => matches(run));
  }

  #news(asker: AgentId | undefined): Draft[] {
    const news = this.#newsByAsker.get(asker) ?? [];
    this.#newsByAsker.set(asker, news);
    return news;
  }

  /** Must not reject: if the disk fails, the turn that runs reports it. */
  async #record(): Promise<void> {
    await this.#session.append(this.#recordsDraft()).catch(() => undefined);
  }

  #recordsDraft(): Draft {
    const workers = [...this.#workerById.values()].filter(
      ({ run, leaving }) => leaving === "kept" || (leaving === undefined && run.state.kind !== "ended"),
    );
    return recordsDraft(workers.map(({ run, booked }) => toRecord(run, booked)));
  }

  /** In one step with the record that says how much is booked: a kill between the two would book it twice. */
  async #book(worker: AgentWorker): Promise<void> {
    const calls = worker.unbooked.splice(0);
    const { id, name } = worker.run;
    if (calls.length === 0 && worker.leaving !== "gone") return;
    worker.booked += calls.length;
    const costs = calls.length === 0 ? [] : [agentCostDraft({ agent: id, name, calls })];
    await this.#session.append(...costs, this.#recordsDraft()).catch(() => undefined);
  }

  #forgetOldest(): void {
    const ended = this.#workers(({ state }) => state.kind === "ended").toSorted((a, b) => endedAt(a) - endedAt(b));
    for (const { run } of ended.slice(0, Math.max(0, ended.length - endedAgentsMax))) this.#workerById.delete(run.id);
  }

  /** It runs, and its last turn is not over. */
  #isAtWork(id: AgentId): boolean {
    const worker = this.#workerById.get(id);
    return worker !== undefined && isRunning(worker.run) && worker.leaving === undefined;
  }
}

const isRunning = ({ state }: AgentRun): boolean => state.kind === "running";
