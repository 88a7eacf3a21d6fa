import { realpath } from "node:fs/promises";
import { createEngine } from "../host/engine.ts";
import { isRerunnable } from "palimpsest/internal/layers/2-clear/clearable";
import { reckonWith } from "palimpsest/internal/context/follow-undo";
import { frozenBaseline, toolsKnown } from "./frozen.ts";
import { runTurn } from "palimpsest/internal/loop/turn";
import { followSettings } from "./follow-settings.ts";
import { putBackMissing } from "palimpsest/internal/session/put-back";
import type { Session } from "palimpsest/internal/session/session";
import { figure } from "palimpsest/internal/schema/figure";
import { plural } from "palimpsest/internal/schema/plural";
import type { Numbers } from "palimpsest/internal/settings/numbers";
import { findModel } from "palimpsest/internal/tokens/registry";
import { findShell } from "../tool/shell/find-shell.ts";
import { agentContext } from "./agent-context.ts";
import { type DepsInput, depsOf } from "./agent-deps.ts";
import type { AgentOptions } from "./agent-options.ts";
import type { Assembling } from "./assembling.ts";
import { costsSoFar } from "palimpsest/internal/context/past-costs";
import { greet } from "./greet.ts";
import { jobsAndServers } from "./jobs-and-servers.ts";
import { type LeftSettled, settleLeft } from "./left-groups.ts";
import { pickModel, serverOf } from "./model-choice.ts";
import { modelDefault } from "./model-default.ts";
import { pickForSession } from "./pick-for-session.ts";
import { prefixNow } from "./prefix.ts";
import { serverAnswers } from "./server-answers.ts";
import { problemsIn, unreadBans } from "./rule-problems.ts";
import { settingsNewsBox, withNews } from "./settings-news.ts";
import type { AgentOpened } from "./agent.ts";
import { besideTurns, newsAside } from "./beside-turns.ts";
import { chooseSession } from "./choose-session.ts";
import { equip } from "./equip.ts";
import { sessionHooks } from "./session-hooks.ts";

/** A whole agent with everything picked: store, settings, model, tools, hooks, instructions. */
export async function openAgent(options: AgentOptions): Promise<AgentOpened> {
  const engine = createEngine(options);
  const project = await engine.project();
  if (project.kind === "failed") return project;
  // Without a key nothing will come of it: then no session is made either.
  const { reading, numbers } = await engine.settings({ flags: options.flags, server: serverOf(options.model) });
  const unread = unreadBans(reading);
  if (unread.length > 0) return { kind: "unread-bans", problems: unread };
  const named = numbers.model ?? modelDefault;
  const picked = pickModel({ choice: options.model, name: named, env: options.env, now: project.deps.now });
  if (picked.kind === "no-key" && options.session.kind === "new") return picked;
  const { value: clearableTools } = reading.settings.clearableTools;
  const added = new Set(clearableTools);
  const isClearable = (tool: string): boolean => isRerunnable(tool) || added.has(tool);
  const opened = await chooseSession({ ...project.deps, isClearable }, options);
  if (opened.kind !== "open") return opened;
  const { session } = opened;
  const agent = await assembled({ engine, options, deps: project.deps, root: project.root, session });
  if (agent.kind !== "agent") await session.close();
  return agent;
}

async function assembled(parts: Assembling): Promise<AgentOpened> {
  const { engine, options, deps, session } = parts;
  const { flags } = options;
  const news = settingsNewsBox((await engine.settings({ flags })).reading);
  const settings = await followSettings(engine, { session, flags, onNews: news.put });
  // They may have become unreadable since they were looked at.
  const unread = unreadBans(settings.current());
  if (unread.length > 0) return { kind: "unread-bans", problems: unread };
  const { first, model, picked } = await pickForSession(parts);
  if (picked.kind === "no-key") return picked;
  const cwd = await realpath(options.cwd);
  const shell = await findShell();
  const left = await mended(parts);
  if (left.kind === "failed") return left;
  const having = { settings, shell, cwd, groups: left.groups, toolsHad: await toolsKnown(deps, { session, model }) };
  const beside = await jobsAndServers(parts, having);
  const { box, asks, own, told, leaves } = await equip(parts, { ...having, model, beside });
  const rendering = { model, cwd, tools: box.tools, settings };
  const prefix = await prefixNow(parts, rendering);
  const frozen = await frozenBaseline(deps, { session, now: prefix.parts });
  if (frozen.kind === "failed") return frozen;
  const { baseline, moved } = frozen;
  const answers = await serverAnswers(parts, { baseline, picked });
  const { countedFixed } = answers;
  reckonWith(session, { baseline, countedFixed });
  const hooks = settings.current().settings.hooks.value;
  const agentDeps = depsOf(parts, {
    model,
    declared: answers.declaredSizes,
    hooks,
    cwd,
    box,
    leaves,
    settings,
    port: picked.model,
    shell: shell.path,
    learned: learnedIn(first.numbers),
    news: beside.news,
    startedOn: prefix.startedOn,
  });
  const { value: models } = first.reading.settings.models;
  const costs = costsSoFar(session, models);
  const begun = { prefix: rendering, baseline, countedFixed, moved, costs: costs.own, known: findModel(model, models) };
  const talk = agentContext(parts, { deps: agentDeps, box, asks, ...begun });
  const { conversation, compacting } = talk;
  const aside = newsAside({ settings: news, leaves, compacting, beside });
  const greeted = await greet(agentDeps, { options, session, model, instructions: prefix.instructions });
  if (greeted.kind === "failed") return greeted;
  const queue: string[] = [];
  return {
    kind: "agent",
    session,
    conversation,
    model,
    inheritedCosts: costs.inherited.session,
    warnings: [...warningsOf(damageOf(session), left, own, beside, greeted), ...prefix.instructions.problems],
    settingsProblems: problemsIn(first.reading),
    turn: (text, signal) =>
      withNews(told(answers.askBeside(runTurn(agentDeps, { conversation, text, signal, queue }))), aside),
    mode: own.mode,
    queue,
    ...besideTurns(beside, compacting),
    hooks,
    view: talk.view,
    compaction: talk.compaction,
    numbers: agentDeps.numbers,
    ...sessionHooks(agentDeps, session),
  };
}

/** What an earlier run that was killed left undone. */
async function mended({ deps, session, options: { jobs } }: Assembling): Promise<LeftSettled> {
  const put = await putBackMissing(deps, session);
  return put.kind === "failed" ? put : await settleLeft(deps, { session, jobs });
}

const learnedIn = ({ window, inputTokensMax }: Numbers): DepsInput["learned"] => ({
  learnedTokens: window.source === "learned" ? window.tokens : undefined,
  learnedInputTokens: inputTokensMax?.source === "learned" ? inputTokensMax.tokens : undefined,
});

/** What could not be read is not in the view: an answer may miss it. */
const damageOf = ({ id, damagedRanges: count }: Session): { readonly warnings: readonly string[] } => {
  const ranges = `${figure(count)} damaged ${plural(count, "range")}`;
  return { warnings: count === 0 ? [] : [`the log has ${ranges}: see \`palimpsest sessions fsck ${id}\``] };
};

const warningsOf = (...of: readonly { readonly warnings: readonly string[] }[]): readonly string[] =>
  of.flatMap(({ warnings }) => warnings);
