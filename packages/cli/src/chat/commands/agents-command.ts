import { forkType } from "palimpsest/internal/layers/7-agents/plan";
import type { DefinitionSource } from "palimpsest/internal/layers/7-agents/agent-definition";
import type { Agents } from "palimpsest/internal/ports/agents";
import type { AgentRun } from "palimpsest/internal/schema/agent-run";
import { safeCutIndex } from "palimpsest/internal/text/safe-cut-index";
import type { FoundDefinitions } from "../../agent/agents/find-definitions.ts";
import { memberFacts, readTeam, teamStatusText, type TeamView } from "../../team/read-team.ts";
import { clip, formatNumber, joinLines } from "../../text/format.ts";
import type { Style } from "../../text/style.ts";
import { type ChatCommand, type ChatCommandContext, stay } from "../chat-command.ts";
import { messageCharsMax, recalledCharsMax } from "../limits.ts";
import { print, refuse, tell, warn } from "./chat-lines.ts";
import { openAgentTranscript } from "./open-agent-transcript.ts";
import { agentStateText, agentText, offerStop, showAgent } from "./show-agent.ts";

/** Lists the members of the team, the agents of the session and the types that can be started; an agent can be read, written to and stopped. */
export const agentsCommand: ChatCommand = async ({ rest }, chat) => {
  const { agents, agentTypes, mail } = chat.agent;
  const team = mail?.membership === undefined ? undefined : await readTeam(mail.membership);
  const teamLines = (style: Style): string => (team === undefined ? "" : teamText(team, style));
  if (agents === undefined || agentTypes === undefined) {
    if (team !== undefined && rest === "") print(chat, teamLines);
    tell(chat, "This session can start no agents: they are off, or it began without them.");
    return stay;
  }
  const runs = agents.list();
  if (rest === "") print(chat, (style) => `${teamLines(style)}${listText({ runs, types: agentTypes }, style)}`);
  const run = rest === "" ? await pickAgent(chat, runs) : findAgent(chat, { runs, name: rest, team });
  if (run !== undefined) await runAction(chat, { agents, run });
  return stay;
};

function teamText(team: TeamView, style: Style): string {
  const { others } = team;
  const lines = others.map((other) => `${style("bold", other.member.name)}  ${memberFacts(other)}`);
  return [
    style("bold", `team ${teamStatusText(team)}`),
    ...(lines.length === 0 ? ["It has no other members yet: ask for some, or start one yourself."] : lines),
    "\n",
  ].join("\n");
}

interface ChosenAgent {
  readonly agents: Agents;
  readonly run: AgentRun;
}

function listText(
  { runs, types }: { readonly runs: readonly AgentRun[]; readonly types: FoundDefinitions },
  style: Style,
): string {
  const now = Date.now();
  const none =
    "No agent was started in this session yet: the model does it when it is worth it, or when you ask for it.";
  const agentTexts = runs.map((run) => agentText(run, { style, now }));
  return [
    ...(runs.length === 0 ? [none] : [style("bold", "agents"), ...agentTexts]),
    "",
    style("bold", "types that can be started"),
    ...types.definitions.map(
      ({ name, description, source }) =>
        `${style("bold", name)}  ${joinLines(description)} ${style("dim", `(${sourceText(source)})`)}`,
    ),
    `${style("bold", forkType)}  A copy of the conversation, which shares its cache. ${style("dim", "(built in)")}`,
    ...types.problems.map(({ severity, path, what }) => {
      const line = joinLines(`${path}: ${what}`);
      return severity === "notice" ? style("dim", line) : style("yellow", `${severity}: ${line}`);
    }),
  ].join("\n");
}

const sourceText = (source: DefinitionSource): string => (source.kind === "built-in" ? "built in" : source.path);

async function pickAgent({ ui, signal }: ChatCommandContext, runs: readonly AgentRun[]): Promise<AgentRun | undefined> {
  if (runs.length === 0) return undefined;
  const choices = runs.toReversed().map((run) => ({
    value: run.id,
    label: clip(`${run.name}: ${run.description}`, messageCharsMax),
    description: agentStateText(run, Date.now()),
  }));
  const id = await ui.choose({ title: "Which agent?", choices, search: "typed", verb: "open" }, signal);
  return signal.aborted ? undefined : runs.find((run) => run.id === id);
}

function findAgent(
  chat: ChatCommandContext,
  {
    runs,
    name,
    team,
  }: { readonly runs: readonly AgentRun[]; readonly name: string; readonly team?: TeamView | undefined },
): AgentRun | undefined {
  const found = runs.findLast((run) => run.name === name || run.id === name);
  const teammate = team?.others.find(({ member }) => member.name === name);
  if (found === undefined && team !== undefined && teammate !== undefined) {
    const address = `${name}@${team.team}`;
    tell(
      chat,
      `${name}: ${memberFacts(teammate)}. It is a process of its own: \`palimpsest agents attach ${address}\` in another terminal follows it, \`palimpsest agents kill ${address}\` ends it.`,
    );
  } else if (found === undefined)
    refuse(chat, { message: `there is no agent ${name} in this session`, hint: "/agents lists them." });
  return found;
}

type Action = "look" | "report" | "send" | "stop";

async function runAction(chat: ChatCommandContext, chosen: ChosenAgent): Promise<void> {
  const { ui, signal } = chat;
  const { run } = chosen;
  if (ui.answeredBy === "nobody") return await showAgent(chat, run);
  const title = `${run.name}, ${agentStateText(run, Date.now())}`;
  const value = await ui.choose({ title, choices: actionChoices(run), search: "none" }, signal);
  if (!signal.aborted && isAction(value)) await runByAction[value](chat, chosen);
}

function actionChoices({ state }: AgentRun) {
  const isRunning = state.kind === "running";
  const effect = isRunning ? "it reads it before its next request" : "it goes on with it, in the background";
  return [
    { value: "look", label: "Look at its transcript" },
    ...(state.kind === "ended" ? [{ value: "report", label: "Read its whole report" }] : []),
    { value: "send", label: "Send it a message", description: effect },
    ...(isRunning ? [{ value: "stop", label: "Stop it" }] : []),
  ];
}

const runByAction: { readonly [Name in Action]: (chat: ChatCommandContext, chosen: ChosenAgent) => Promise<void> } = {
  look,
  report,
  send,
  stop: (chat, { run }) => offerStop(chat, run),
};

const isAction = (value: string | undefined): value is Action =>
  value !== undefined && Object.hasOwn(runByAction, value);

async function look(chat: ChatCommandContext, { run }: ChosenAgent): Promise<void> {
  const transcript = await openAgentTranscript(chat, run.id);
  if (transcript === undefined) return tell(chat, `The transcript of ${run.name} can't be read.`);
  const shown = await chat.ui.openTranscript({ ...transcript, title: `Agent ${run.name}` }, chat.signal);
  if (shown === "not-shown") await showAgent(chat, run);
}

async function report(chat: ChatCommandContext, { agents, run }: ChosenAgent): Promise<void> {
  const whole = await agents.report(run.id);
  if (whole === undefined || whole.trim() === "") return tell(chat, `${run.name} has left no report.`);
  const text = whole.slice(0, safeCutIndex(whole, recalledCharsMax));
  const rest = whole.length - text.length;
  const more = `… ${formatNumber(rest)} more characters: its transcript has all of them`;
  print(chat, (style) => [style("bold", `report of ${run.name}`), text, ...(rest === 0 ? [] : [more])].join("\n"));
}

async function send(chat: ChatCommandContext, { agents, run }: ChosenAgent): Promise<void> {
  const { ui, signal } = chat;
  const { id, name } = run;
  const text = await ui.edit({ title: `Your message to ${name}`, text: "", of: "message" }, signal);
  if (text === undefined || text.trim() === "" || signal.aborted) return tell(chat, "Nothing was sent.");
  const outcome = await agents.send({ to: id, text: text.trim(), from: { kind: "user" } });
  switch (outcome.kind) {
    case "queued":
      return tell(chat, `${name} reads it before its next request.`);
    case "resumed":
      return tell(chat, `${name} goes on with it, in the background. The model gets its report.`);
    case "all":
    case "main":
    case "unknown":
      return warn(chat, `${name} is not known any more.`);
    case "refused":
      return warn(chat, `${name} did not get it: ${outcome.message}`);
  }
}
