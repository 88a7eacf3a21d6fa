import {
  describeAgentEnd,
  describeWorktree,
  formatAgentUsage,
} from "palimpsest/internal/layers/7-agents/format-agent-run";
import type { AgentRun } from "palimpsest/internal/schema/agent-run";
import { millis } from "palimpsest/internal/schema/brand";
import { formatElapsed, formatNumber, joinLines } from "../../text/format.ts";
import type { Style } from "../../text/style.ts";
import type { ChatCommandContext } from "../chat-command.ts";
import { agentLinesMax } from "../limits.ts";
import { itemText } from "../plain/item-text.ts";
import { askToEnd } from "./ask-to-end.ts";
import { print, tell } from "./chat-lines.ts";
import { openAgentTranscript } from "./open-agent-transcript.ts";

/** `running for 12 s`, `has reported 3 min ago, after 12 s`, or that it was lost. */
export function agentStateText({ state, startedAt, place }: AgentRun, now: number): string {
  switch (state.kind) {
    case "running":
      return `running for ${formatElapsed(now - startedAt)}${place === "background" ? " in the background" : ""}`;
    case "ended":
      return `${describeAgentEnd(state.how)} ${formatElapsed(now - state.at)} ago, after ${formatElapsed(state.at - startedAt)}`;
    case "lost":
      return "lost: the session was closed while it worked; a message continues it";
  }
}

/** `explore  find the parser · running for 12 s`, and a line with what it has used, what it does now, and where. */
export function agentText(run: AgentRun, { style, now }: { readonly style: Style; readonly now: number }): string {
  const { name, type, description, depth, usage, progress, worktree } = run;
  const kind = type === name ? "" : `(${type}) `;
  const facts = [
    // What a lost agent had used before is not known any more, only what it had cost.
    ...(usage.requests === 0 ? [] : [formatAgentUsage(usage)]),
    ...(progress === undefined ? [] : [progress]),
    ...(worktree === undefined ? [] : [describeWorktree(worktree)]),
  ];
  const indent = "  ".repeat(Math.max(0, depth - 1));
  return [
    `${indent}${style("bold", name)}  ${kind}${joinLines(description)} · ${agentStateText(run, now)}`,
    ...(facts.length === 0 ? [] : [`${indent}  ${style("dim", facts.map(joinLines).join(" · "))}`]),
  ].join("\n");
}

/** Prints who it is and the last lines of its conversation. */
export async function showAgent(chat: ChatCommandContext, run: AgentRun): Promise<void> {
  const transcript = await openAgentTranscript(chat, run.id);
  if (transcript === undefined) return tell(chat, `The transcript of ${run.name} can't be read.`);
  const now = millis(Date.now());
  print(chat, (style) => {
    const texts = transcript.items.map((item) => itemText(item, { style, now, columns: undefined }) ?? "");
    const lines = texts.filter((text) => text !== "").flatMap((text) => text.split("\n"));
    const shown = lines.slice(-agentLinesMax);
    const rest = lines.length - shown.length;
    return [
      agentText(run, { style, now }),
      ...(rest === 0 ? [] : [`… ${formatNumber(rest)} earlier lines`]),
      ...(shown.length === 0 ? ["(it has said nothing yet)"] : shown),
      ...(transcript.path === undefined ? [] : [style("dim", `all of it: ${transcript.path}`)]),
    ].join("\n");
  });
}

/** Asks, and stops it. Its conversation stays. */
export async function offerStop(chat: ChatCommandContext, { id, name }: AgentRun): Promise<void> {
  const description = "the model is told; a message continues it later";
  if (!(await askToEnd(chat, { title: name, description }))) return;
  await chat.agent.agents?.stop(id);
  tell(chat, `${name} is stopped. A message continues it: /agents ${name}`);
}
