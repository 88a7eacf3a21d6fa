import { type CountedLog, openCounted, openCountedAt } from "palimpsest/internal/session/counted-log";
import { LogView } from "palimpsest/internal/context/log-view";
import type { ContextReport } from "palimpsest/internal/tokens/context-report";
import type { View } from "palimpsest/internal/transcript/fold";
import { windowOptions, serverOption } from "../program/setting-options.ts";
import { command, type CommandContext } from "../program/command.ts";
import { exitCode, failure, type Failure } from "../program/failure.ts";
import { quantity, wrapText, joinLines } from "../text/format.ts";
import { describeSendState, hasClientLists, renderMessage, renderSystem } from "../text/render-message.ts";
import { importJson, importText, openNamedLog, wrongFileFailure } from "../session/named-log.ts";
import { settingsForLog } from "../session/settings-for-log.ts";
import { sessionOperand } from "../program/parse-arguments.ts";

export const viewCommand = command({
  name: "view",
  summary: "show the exact messages the model would get",
  operands: { session: sessionOperand },
  options: {
    at: { type: "string", shown: "entry|line", summary: "the view at this entry's uuid or line number (from 1)" },
    full: { type: "boolean", summary: "do not shorten long blocks" },
    ...windowOptions,
    ...serverOption,
  },
  json: "system, messages (Messages API form), sendable, why, repairs, path figures, tokens, window, thresholds, pressure, categories, fixedPart, deferred, damage; import (format, notes) of a translated file",
  details: [
    "A file of another tool is read in place and never written. Its recorded thinking was not signed for you: it is left out and counted.",
  ],
  run: async (context, { operands, options, format }) => {
    const log = await openNamedLog(context, operands.session);
    if (log.kind === "failure") return log;
    try {
      const opened = await openView(log, options.at);
      if (opened.kind === "failure") return opened;
      const wrong = options.at === undefined ? wrongFileFailure(log, opened) : undefined;
      if (wrong !== undefined) return wrong;
      const logView = new LogView(opened);
      const view = logView.messages();
      const { systemPrompts, memoryFiles, memory } = opened.fixedPart;
      // Instruction files and memory stand behind the prompt; only the count tells them apart.
      const system = [...systemPrompts, ...memoryFiles.map(({ text }) => text), ...(memory ?? [])];
      if (format === "json") {
        const settings = await settingsForLog(context, { log: opened, options, session: log.session?.id });
        if (settings.kind === "failure") return settings;
        await context.out.json({
          system,
          ...asJson(view, opened),
          ...reportFigures(logView.report(settings.resolved)),
          ...importJson(log),
        });
      } else {
        await showText(context, { system, view, opened, length: options.full ? "full" : "short" });
        await context.err.write(importText(log));
      }
      return exitCode.fine;
    } finally {
      await log.source.close();
    }
  },
});

type OpenViewInput = Parameters<typeof openCounted>[1] & Parameters<typeof openCounted>[0];

async function openView(
  log: OpenViewInput,
  at: string | undefined,
): Promise<({ kind: "opened" } & CountedLog) | Failure> {
  const { source, origin } = log;
  if (at === undefined) return { kind: "opened", ...(await openCounted(log, { source, origin })) };
  const opened = await openCountedAt(log, { source, origin, at });
  if (opened !== undefined) return { kind: "opened", ...opened };
  return failure({
    code: exitCode.notFound,
    message: `there is no entry or line ${at} in this transcript`,
    hint: "--at takes an entry's uuid or a line number, counted from 1.",
  });
}

/** What the same report says in `context --json`, as far as a request needs it. */
const reportFigures = ({
  used,
  categories,
  fixedPart,
  deferred,
  window,
  thresholds,
  pressure,
}: ContextReport): object => ({
  tokens: used,
  window,
  thresholds,
  pressure,
  categories,
  fixedPart,
  deferred,
});

function asJson(view: View, opened: CountedLog): object {
  const { messages, sendable, why, repairs, path } = view;
  return {
    messages,
    sendable,
    why: why?.text ?? null,
    whyCode: why?.code ?? null,
    repairs,
    path: { ...path, read: opened.read },
    damage: opened.damage,
  };
}

async function showText(
  { out, err }: CommandContext,
  {
    system,
    view,
    opened,
    length,
  }: {
    readonly system: readonly string[];
    readonly view: View;
    readonly opened: CountedLog;
    readonly length: "full" | "short";
  },
): Promise<void> {
  const look = { style: out.style, length };
  if (system.length > 0) await out.write(renderSystem(system, look));
  for (const message of view.messages) await out.write(renderMessage(message, look));
  const { path } = view;
  await out.write(out.style("dim", `\n${"─".repeat(60)}\n`));
  const {
    text,
    look: color,
    advice,
  } = describeSendState(view, {
    hasClient: hasClientLists(opened.fold.path.entries),
  });
  await out.write(`${out.style(color, text)}\n`);
  if (advice !== undefined) await out.write(`${wrapText(advice, out.columns ?? 80)}\n`);
  await out.write(
    `${view.messages.length} messages from ${path.onPath} entries on the path (${path.aside} on other branches, ${path.sidechain} of sub-agents)\n`,
  );
  if (path.boundaries.length > 0) await out.write(`behind boundary ${joinLines(path.boundaries.at(-1) ?? "")}\n`);
  if (path.thinkingLeftOut > 0)
    await out.write(
      `${quantity(path.thinkingLeftOut, "thinking block")} left out: not signed for you, or behind a changed prefix\n`,
    );
  for (const repair of view.repairs)
    await out.write(
      `repair: ${joinLines(`${repair.kind} ${repair.toolUse ?? repair.entry ?? ""} (${repair.detail})`)}\n`,
    );
  for (const problem of path.problems) await err.write(`note: ${joinLines(`${problem.kind} at ${problem.entry}`)}\n`);
  if (opened.damage.length > 0)
    await err.write(`${quantity(opened.damage.length, "damaged range")}: see \`palimpsest sessions fsck\`\n`);
}
