import type { Job } from "palimpsest/internal/ports/jobs";
import { clip, formatNumber, joinLines, formatElapsed } from "../../text/format.ts";
import { type ChatCommandContext, type ChatCommand, stay } from "../chat-command.ts";
import { jobLinesMax, messageCharsMax } from "../limits.ts";
import { print, tell } from "./chat-lines.ts";

/** Shows background work. A job can be looked at and ended; the agent still gets the output that the user has seen. */
export const tasksCommand: ChatCommand = async (_slashed, chat) => {
  const { agent } = chat;
  const jobs = agent.jobs();
  const { notes, extraction, preparation } = agent.aside();
  const backgroundLines = [
    ...(notes === "running" ? ["notes are being taken"] : []),
    ...(extraction === "running" ? ["memories are being extracted from what was said"] : []),
    ...(preparation === "none" ? [] : [`a summary made ahead is ${preparation === "ready" ? "ready" : "on its way"}`]),
  ];
  if (jobs.length === 0 && backgroundLines.length === 0) {
    tell(chat, "Nothing runs beside the conversation.");
    return stay;
  }
  print(chat, (style) =>
    [
      ...jobs.map((job) => `${style("bold", job.id)}  ${stateText(job)}  ${joinLines(job.command)}`),
      ...backgroundLines,
    ].join("\n"),
  );
  if (jobs.length > 0) await pickJob(chat, jobs);
  return stay;
};

function stateText({ state, startedAt }: Job): string {
  if (state.kind === "running") return `running for ${formatElapsed(Date.now() - startedAt)}`;
  return `ended ${formatElapsed(Date.now() - state.at)} ago (${state.how})`;
}

async function pickJob(chat: ChatCommandContext, jobs: readonly Job[]): Promise<void> {
  const { ui, signal } = chat;
  const choices = jobs.toReversed().map((job) => ({
    value: job.id,
    label: clip(job.command, messageCharsMax),
    description: `${job.id}, ${stateText(job)}`,
  }));
  const id = await ui.choose({ title: "Which one?", choices, search: "typed", verb: "look" }, signal);
  const job = jobs.find((candidate) => candidate.id === id);
  if (job === undefined || signal.aborted) return;
  showJob(chat, job);
  if (job.state.kind === "running") await offerEnd(chat, job);
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

async function offerEnd(chat: ChatCommandContext, { id }: Job): Promise<void> {
  const { ui, agent, signal } = chat;
  const choices = [
    { value: "leave", label: "Let it run" },
    { value: "end", label: "End it", description: "with all its processes; the agent is told" },
  ];
  const answer = await ui.choose({ title: id, choices, search: "none" }, signal);
  if (answer !== "end" || signal.aborted) return;
  await agent.jobControl?.end(id);
  tell(chat, `${id} is ended.`);
}
