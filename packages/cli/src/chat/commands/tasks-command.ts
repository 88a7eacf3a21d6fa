import { listMemoryWork } from "palimpsest/internal/context/past-costs";
import { memoryRole } from "palimpsest/internal/memory/directory/memory-path";
import type { Job } from "palimpsest/internal/ports/jobs";
import type { AgentRun } from "palimpsest/internal/schema/agent-run";
import { dreamTaskText, dreamTurnsText } from "../../memory/dream-text.ts";
import { openMemories } from "../../memory/open-memories.ts";
import { taskFacts } from "../../team/read-team.ts";
import { clip, formatNumber, joinLines, formatElapsed, quantity } from "../../text/format.ts";
import { type ChatCommandContext, type ChatCommand, stay } from "../chat-command.ts";
import { jobLinesMax, messageCharsMax } from "../limits.ts";
import { askToEnd } from "./ask-to-end.ts";
import { print, tell } from "./chat-lines.ts";
import { agentStateText, agentText, offerStop, showAgent } from "./show-agent.ts";

/**
 * Shows background work and the tasks of the team. A job, an agent or a dream can be looked at and ended; the agent still gets the output of a job that the
 * user has seen.
 */
export const tasksCommand: ChatCommand = async (_slashed, chat) => {
  const { agent } = chat;
  const jobs = agent.jobs();
  const agents = backgroundAgents(chat);
  const dream = agent.dream?.task;
  const { notes, extraction, preparation } = agent.aside();
  const teamTasks = (await agent.mail?.membership?.tasks.list()) ?? [];
  const backgroundLines = [
    ...(notes === "running" ? ["notes are being taken"] : []),
    ...(extraction === "running" ? ["memories are being extracted from what was said"] : []),
    ...(await describeLastExtraction(chat)),
    ...(preparation === "none" ? [] : [`a summary made ahead is ${preparation === "ready" ? "ready" : "on its way"}`]),
  ];
  if (jobs.length + agents.length + backgroundLines.length + teamTasks.length === 0 && dream === undefined) {
    const isMember = agent.mail?.membership !== undefined;
    tell(chat, `Nothing runs beside the conversation${isMember ? ", and the team has no tasks" : ""}.`);
    return stay;
  }
  print(chat, (style) =>
    [
      ...jobs.map((job) => `${style("bold", job.id)}  ${stateText(job)}  ${joinLines(job.command)}`),
      ...agents.map((run) => agentText(run, { style, now: Date.now() })),
      ...(dream === undefined ? [] : [`${style("bold", dreamTask)}  ${dreamTaskText(dream, Date.now())}`]),
      ...backgroundLines,
      ...teamTasks.map((task) => `${style("bold", task.id)}  ${taskFacts(task)}`),
    ].join("\n"),
  );
  if (jobs.length + agents.length > 0 || dream?.status === "running") await pickTask(chat, { jobs, agents });
  return stay;
};

/** Those that run. /agents shows the others too. */
const backgroundAgents = ({ agent }: ChatCommandContext): readonly AgentRun[] =>
  agent.agents?.list().filter(({ place, state }) => place === "background" && state.kind === "running") ?? [];

/** How the last extraction of this session ended, as far as it was booked; no line if there was none. */
async function describeLastExtraction({ agent, context }: ChatCommandContext): Promise<readonly string[]> {
  const { session } = agent;
  const works = listMemoryWork(session.fold.path.everyBranch).filter(({ source }) => source === "extraction");
  const [last, before] = works.toReversed();
  if (last === undefined) return [];
  if (last.failed !== undefined) return [`the last extraction failed: ${joinLines(last.failed.message)}`];
  const opened = await openMemories(context);
  const since = before === undefined ? 0 : Date.parse(before.at);
  const history = opened.kind === "open" ? await opened.memories.history() : [];
  const saved = history.find(
    ({ author, at, provenance }) => author === "extraction" && provenance.session === session.id && at > since,
  );
  if (saved === undefined) return ["the last extraction saved nothing"];
  const count = saved.changes.filter(({ path }) => memoryRole(path) === "memory").length;
  return [`the last extraction saved ${quantity(count, "memory")}: revision ${saved.id}`];
}

function stateText({ state, startedAt }: Job): string {
  if (state.kind === "running") return `running for ${formatElapsed(Date.now() - startedAt)}`;
  return `ended ${formatElapsed(Date.now() - state.at)} ago (${state.how})`;
}

/** The name of a dream in the list; no job has it. */
const dreamTask = "dream";

interface PickedFrom {
  readonly jobs: readonly Job[];
  readonly agents: readonly AgentRun[];
}

async function pickTask(chat: ChatCommandContext, { jobs, agents }: PickedFrom): Promise<void> {
  const { ui, agent, signal } = chat;
  const dream = agent.dream?.task;
  const choices = [
    ...jobs.toReversed().map((job) => ({
      value: job.id,
      label: clip(job.command, messageCharsMax),
      description: `${job.id}, ${stateText(job)}`,
    })),
    ...agents.toReversed().map((run) => ({
      value: run.id,
      label: clip(`${run.name}: ${run.description}`, messageCharsMax),
      description: agentStateText(run, Date.now()),
    })),
    ...(dream === undefined
      ? []
      : [{ value: dreamTask, label: dreamTask, description: dreamTaskText(dream, Date.now()) }]),
  ];
  const id = await ui.choose({ title: "Which one?", choices, search: "typed", verb: "look" }, signal);
  if (signal.aborted) return;
  if (id === dreamTask) return showDream(chat);
  const run = agents.find((candidate) => candidate.id === id);
  if (run !== undefined) {
    await showAgent(chat, run);
    return await offerStop(chat, run);
  }
  const job = jobs.find((candidate) => candidate.id === id);
  if (job === undefined) return;
  showJob(chat, job);
  if (job.state.kind !== "running") return;
  if (!(await askToEnd(chat, { title: job.id, description: "with all its processes; the agent is told" }))) return;
  await agent.jobControl?.end(job.id);
  tell(chat, `${job.id} is ended.`);
}

function showJob(chat: ChatCommandContext, { id }: Job): void {
  const peeked = chat.agent.jobControl?.peek(id);
  if (peeked === undefined || peeked.kind === "unknown") return tell(chat, `${id} is not known any more.`);
  const lines = peeked.output === "" ? [] : peeked.output.replace(/\n$/, "").split("\n");
  const shown = lines.slice(-jobLinesMax);
  const rest = lines.length - shown.length;
  const earlier = rest === 0 ? [] : [`… ${formatNumber(rest)} earlier lines`];
  const text = shown.length === 0 ? ["(it has written nothing since the agent last looked)"] : shown;
  print(chat, (style) => [style("bold", `${id}, since the agent last looked`), ...earlier, ...text].join("\n"));
}

async function showDream(chat: ChatCommandContext): Promise<void> {
  const { dream } = chat.agent;
  if (dream?.task === undefined) return;
  const { task } = dream;
  print(chat, (style) => [style("bold", "what the dream has said"), dreamTurnsText(task)].join("\n"));
  if (task.status !== "running") return;
  const description = "its changes are thrown away; the memories stay as they are";
  if (!(await askToEnd(chat, { title: dreamTask, description }))) return;
  await dream.kill();
  const isKilled = dream.task.status === "killed";
  tell(chat, isKilled ? "The dream is ended; nothing was changed." : "The dream had ended already.");
}
