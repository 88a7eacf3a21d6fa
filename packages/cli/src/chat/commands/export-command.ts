import { extname, resolve } from "node:path";
import { openWorkspace } from "../../host/workspace.ts";
import type { Choice } from "../../tui/chat-ui.ts";
import {
  exportResultText,
  type ExportFormat,
  exportFormats,
  exportTo,
  isExportFormat,
  type ExportRefusal,
} from "../../session/export-to.ts";
import { openNamedLog } from "../../session/named-log.ts";
import { type ChatCommandContext, type ChatCommand, stay } from "../chat-command.ts";
import { refuse, tell } from "./chat-lines.ts";

const aboutByFormat: Readonly<Record<ExportFormat, string>> = {
  md: "Markdown, to read and to pass on",
  html: "one page for a browser",
  jsonl: "the log, in the form that other tools read",
};

export const formatChoices = (): readonly Choice[] =>
  exportFormats.map((format) => ({ value: format, label: format, description: aboutByFormat[format] }));

/** Writes the session to a file in the chat's folder, or to the named one. */
export const exportCommand: ChatCommand = async ({ rest }, chat) => {
  const named = rest === "" ? await pickFormat(chat) : rest;
  if (named === undefined) return stay;
  const target = parseTarget(named);
  if (target === undefined) {
    const hint = "/export md, html or jsonl, or a file that ends so: /export notes.md";
    refuse(chat, { message: `this is no format, and no file name that ends in one: ${named}`, hint });
  } else await exportSession(chat, target);
  return stay;
};

async function pickFormat({ ui, signal }: ChatCommandContext): Promise<string | undefined> {
  const chosen = await ui.choose({ title: "Which format?", choices: formatChoices(), search: "none" }, signal);
  return signal.aborted ? undefined : chosen;
}

interface ExportTarget {
  readonly format: ExportFormat;
  /** Undefined: named after the session. */
  readonly file?: string;
}

function parseTarget(named: string): ExportTarget | undefined {
  if (isExportFormat(named)) return { format: named };
  const format = extname(named).slice(1).toLowerCase();
  return isExportFormat(format) ? { format, file: named } : undefined;
}

async function exportSession(chat: ChatCommandContext, { format, file }: ExportTarget): Promise<void> {
  const { context, agent } = chat;
  const name = agent.session.id;
  const log = await openNamedLog(context, name);
  if (log.kind === "failure") return refuse(chat, log);
  const agents = await openWorkspace(context).agentLogs(log.path);
  try {
    const request = { name, origin: log.origin, source: log.source, agents };
    const path = resolve(context.cwd, file ?? `${name}.${format}`);
    const done = await exportTo(path, { log, request, mode: "full", format, existing: "keep" });
    if (done.kind === "refused") refuse(chat, { message: done.message, hint: hintByWhy[done.why] });
    else tell(chat, `Written: ${exportResultText(done)}. Look at it before you pass it on: secrets are not masked.`);
  } finally {
    await log.source.close();
    for (const { source } of agents) await source.close();
  }
}

const hintByWhy: Readonly<Record<ExportRefusal["why"], string>> = {
  "too-large": "/export jsonl has no such limit.",
  "the-log": "Name another file: /export <file>",
  "no-file": "Name another file: /export <file>",
  taken: "Name another file: /export <file>",
  "no-folder": "Make it first, or name another place.",
};
