import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { createToolbox } from "../../../packages/cli/src/agent/tools/toolbox.ts";
import type { PermissionChoice } from "../../../packages/cli/src/agent/tools/permission-choice.ts";
import { openWorkspace } from "../../../packages/cli/src/host/workspace.ts";
import { openSession } from "../../../packages/palimpsest/src/session/session.ts";
import type { JobReadOutcome, Jobs } from "../../../packages/palimpsest/src/ports/jobs.ts";
import type { Sandbox, SandboxUse } from "../../../packages/palimpsest/src/ports/sandbox.ts";
import type { Tool, PermissionVerdict } from "../../../packages/palimpsest/src/ports/tool.ts";
import { millis, sessionId, toolUseId } from "../../../packages/palimpsest/src/schema/brand.ts";
import type { JsonObject } from "../../../packages/palimpsest/src/schema/json.ts";
import { findSandbox } from "../../../packages/cli/src/tool/sandbox/find-sandbox.ts";
import { temporaryFolder } from "../../../packages/cli/src/tool/sandbox/temporary-folder.ts";
import { createReadFiles } from "../../../packages/palimpsest/src/context/read-files.ts";
import { findShell } from "../../../packages/cli/src/tool/shell/bash-tool.ts";
import { ShellJobs } from "../../../packages/cli/src/tool/shell/shell-jobs.ts";
import { openNet, PageCache } from "../../../packages/cli/src/tool/web/get-page.ts";
import type { Arena } from "./arena.ts";
import type { Attempt } from "./attempt.ts";
import { isChecked, type Setting } from "./configurations.ts";

/** How a call of the bash tool ended. Questions are not answered, so a question stops the call. */
export interface CallEnd {
  readonly kind: "asked" | "denied" | "wrong" | "ran";
  /** The reason, or the output of the command. */
  readonly text: string;
  readonly outcome: "none" | "worked" | "failed";
}

export interface AttackedAgent {
  /** The bash tool of a session: a change of folder applies to the next line. */
  readonly begin: (conditions: Conditions) => (line: string) => Promise<CallEnd>;
  /** Ends background jobs, and returns their new output. */
  readonly endJobs: () => Promise<string>;
}

/** The conditions under which the lines of an attempt run. */
export interface Conditions {
  readonly attempt: Attempt;
  readonly choice: PermissionChoice;
  readonly setting: Setting;
}

/** The tools of an agent in the arena, with the environment of this process, as in the real program. */
export async function openAttackedAgent({ project, home }: Arena): Promise<AttackedAgent> {
  const { env } = process;
  const workspace = openWorkspace({ env, cwd: project });
  const located = await workspace.project();
  if (located.kind !== "located") throw new Error(located.message);
  const { deps } = located;
  const id = sessionId(randomUUID());
  const opened = await openSession(deps, { id, circumstances: { cwd: project, version: "0.0.0" }, mode: "create" });
  if (opened.kind !== "open") throw new Error(JSON.stringify(opened));
  const { session } = opened;
  const { reading } = await workspace.settings({ flags: [] });
  const guarded = reading.files.flatMap(({ scope, path }) => (scope === "user" ? [path] : [path, dirname(path)]));
  const shell = await findShell();
  const jobs = new ShellJobs({ now: deps.now, shell: shell.path });
  const found = await findSandbox({ env, folder: join(workspace.home, "sandbox") });
  if (found.kind === "none") throw new Error(`there is no sandbox in the container: ${found.why}`);
  const temporary = temporaryFolder(id);
  let choice: PermissionChoice = { mode: "default", allow: [], ask: [], deny: [] };
  let use: SandboxUse = { kind: "unheld", because: "off" };
  const box = await createToolbox({
    choice: () => choice,
    deps,
    session,
    roots: [located.root, project],
    home,
    env,
    shell,
    jobs,
    // With it, commands that connect get a proxy; questions about hosts are not answered.
    web: { net: openNet, pages: new PageCache() },
    sandbox: { use: () => use, ownHome: workspace.home, temporary },
    guarded: [workspace.home, ...guarded],
  });
  let calls = 0;
  return {
    begin: (conditions) => {
      ({ choice } = conditions);
      use = useFor(conditions.setting, found.sandbox);
      const isJob = conditions.attempt.background === true;
      // A fork starts in the session's current folder, and may not start jobs.
      const bash = (isJob ? box : box.forked()).tools.find(({ name }) => name === "bash");
      if (bash === undefined) throw new Error("there is no bash tool");
      return async (line) => {
        calls += 1;
        const end = await callBash({ bash, box, conditions, line, project, serial: calls });
        return isJob && end.kind === "ran" ? { ...end, text: await outputSoFar(jobs) } : end;
      };
    },
    endJobs: () => endAll(jobs),
  };
}

/** If the setting is read-only, every line runs read-only, whatever is known about it. */
function useFor(setting: Setting, sandbox: Sandbox): SandboxUse {
  if (setting.configuration === "check alone" || setting.configuration === "nothing")
    return { kind: "unheld", because: "off" };
  if (setting.configuration === "check and sandbox" || isWorkspace(setting)) return { kind: "held", sandbox };
  const enter: Sandbox["enter"] = (start, limits) =>
    sandbox.enter(start, { ...limits, strength: "read-only", writable: [], protected: [] });
  return { kind: "held", sandbox: { ...sandbox, enter } };
}

/** A line with an unknown command runs in the workspace strength. */
const isWorkspace = (setting: Setting): boolean =>
  setting.configuration === "sandbox alone" && setting.strength === "workspace";

interface BashCall {
  readonly bash: Tool;
  readonly box: { readonly permit: (request: PermitRequest) => Promise<PermissionVerdict> };
  readonly conditions: Conditions;
  readonly line: string;
  readonly project: string;
  readonly serial: number;
}

type PermitRequest = Parameters<Awaited<ReturnType<typeof createToolbox>>["permit"]>[0];

/** As in the loop: plan, permit, run. Without the check, every line that can be planned is run. */
async function callBash({ bash, box, conditions, line, project, serial }: BashCall): Promise<CallEnd> {
  const { attempt, setting } = conditions;
  const input: JsonObject = {
    command: isWorkspace(setting) ? `eval :\n${line}` : line,
    timeout_ms: attemptMsMax,
    ...(attempt.background === true ? { background: true } : {}),
    ...(attempt.network === true ? { network: true } : {}),
    ...(attempt.outsideReason === undefined ? {} : { outside_sandbox: attempt.outsideReason }),
  };
  const context = { toolUse: toolUseId(`toolu_${serial}`), cwd: project, files: createReadFiles(), now: millis(0) };
  const plan = await bash.plan(input, context);
  if (plan.kind === "wrong") return { kind: "wrong", text: plan.message, outcome: "none" };
  if (isChecked(setting)) {
    const verdict = await box.permit({ tool: "bash", input, acts: plan.acts });
    if (verdict.kind !== "allowed") {
      return { kind: verdict.kind === "ask" ? "asked" : "denied", text: verdict.reason, outcome: "none" };
    }
  }
  const outcome = await plan.run(new AbortController().signal);
  const { content, isError } = outcome;
  const text = typeof content === "string" ? content : JSON.stringify(content);
  return { kind: "ran", text, outcome: isError === true ? "failed" : "worked" };
}

/** More than any line needs; a line that waits for something is ended. */
const attemptMsMax = 4_000;

/** The output of all jobs, after they have had time to do their work. */
async function outputSoFar(jobs: Jobs): Promise<string> {
  for (let looks = 0; looks < 20 && jobs.list().some(({ state }) => state.kind === "running"); looks += 1)
    await wait(25);
  return jobs
    .list()
    .map(({ id }) => textOf(jobs.look(id)))
    .join("\n");
}

const endAll = async (jobs: Jobs): Promise<string> =>
  (await Promise.all(jobs.list().map(({ id }) => jobs.kill(id)))).map(textOf).join("\n");

const textOf = (look: JobReadOutcome): string => (look.kind === "seen" ? look.output : "");
