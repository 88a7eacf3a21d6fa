import { z } from "zod";
import type {
  ModeAfterPlan,
  PlanAnswer,
  PlanMode,
  PlanModeFailure,
  PlanReview,
  ProposePlanOutcome,
} from "palimpsest/internal/ports/plan-mode";
import type { PermissionMode } from "../../tool/permission/decide-permission.ts";
import type { KeptPlan, PlanState } from "../../tool/plan-tool.ts";
import { hookContextAttachmentType } from "palimpsest/internal/transcript/attachment-text";
import { type Draft, announcementSetting } from "palimpsest/internal/transcript/draft";
import type { AppendEntriesOutcome, Session } from "palimpsest/internal/session/session";
import { type PermissionMode as NamedMode, renderChange } from "../system-prompt/render-change.ts";
import { narrowerMode, widerMode } from "../tools/permission-choice.ts";
import type { NotesFile } from "palimpsest/internal/ports/session-files";

interface SessionModeInput {
  readonly session: Pick<Session, "append" | "fold">;
  /** The mode from flags and settings when the session was opened. The session gets no wider than this by itself. */
  readonly opening: () => PermissionMode;
}

/**
 * The permission mode of one session. Changes since it was opened are in the log, as settings, so a resume, a fork and
 * another branch find them there. A log can narrow the mode, but widens it only as far as the user widened it in this
 * process, because any log may have come from elsewhere.
 *
 *   opening ──enter──▶ plan ──the user accepts──▶ default, acceptEdits ──enter──▶ plan …
 *   any ──the user changes it──▶ any
 */
export class SessionMode {
  readonly #session: SessionModeInput["session"];
  readonly #opening: () => PermissionMode;
  #granted: PermissionMode = "plan";

  constructor({ session, opening }: SessionModeInput) {
    this.#session = session;
    this.#opening = opening;
  }

  /** Read from the log at each call. */
  current(): PermissionMode {
    const logged = this.#loggedMode();
    const opening = this.#opening();
    return logged === undefined ? opening : narrowerMode(logged, widerMode(opening, this.#granted));
  }

  state(): PlanState {
    const modeText =
      this.current() === "plan" ? renderChange({ kind: "mode", before: "default", now: "plan" }) : undefined;
    return { modeText, plan: readLoggedPlan(this.#session) };
  }

  /** The caller tells the model. */
  async enter(): Promise<AppendEntriesOutcome> {
    if (this.#loggedMode() === "plan" && this.#announcedMode() === "plan") return nothingAppended;
    return await this.#session.append(...modeDrafts("plan"));
  }

  async keepPlan(plan: KeptPlan): Promise<AppendEntriesOutcome> {
    return await this.#session.append(planDraft(plan));
  }

  /** Only when the user says so. The caller tells the model. */
  async leave(mode: ModeAfterPlan, plan: string): Promise<AppendEntriesOutcome> {
    // The mode comes last: if the process dies between the two, the session is still in plan mode.
    const written = await this.#session.append(planDraft({ text: plan, state: "accepted" }), ...modeDrafts(mode));
    if (written.kind === "appended") this.#granted = widerMode(this.#granted, mode);
    return written;
  }

  /** Only when the user says so, by key or flag. The model is told. */
  async change(mode: PermissionMode): Promise<AppendEntriesOutcome> {
    const before = this.current();
    const written = await this.#session.append(...announceModeDrafts(before, mode));
    if (written.kind === "appended") this.#granted = widerMode(this.#granted, mode);
    return written;
  }

  /**
   * Tells the model about a mode that it does not know of: before the first request, when a session resumes under
   * another mode, and after a rewind, which keeps the mode but not its announcement. A mode that held from the start is
   * announced only if it is plan mode.
   */
  async tell(): Promise<AppendEntriesOutcome> {
    const [known, now] = [this.#announcedMode(), this.current()];
    if (known === now || (known === undefined && now !== "plan")) return nothingAppended;
    return await this.#session.append(...announceModeDrafts(known ?? "default", now));
  }

  #loggedMode(): PermissionMode | undefined {
    return this.#readMode(modeName);
  }

  #announcedMode(): PermissionMode | undefined {
    return this.#readMode(announcedModeName);
  }

  #readMode(setting: string): PermissionMode | undefined {
    const name = modeShape.safeParse(this.#session.fold.projection.settings.get(setting)).data;
    return name === undefined ? undefined : modeBySettingName[name];
  }
}

const nothingAppended: AppendEntriesOutcome = { kind: "appended", entries: [] };

/** Both are kept as settings of the session, so that they survive boundaries with the others. */
const modeName = "session.permissionMode";
const planName = "session.plan";
/** The mode that the model believes to be in force. */
const announcedModeName = announcementSetting("permissionMode");

const modeShape = z.enum(["default", "acceptEdits", "plan", "bypassPermissions"]);
const planShape = z.object({ text: z.string(), state: z.enum(["proposed", "accepted"]) });

function readLoggedPlan({ fold }: Pick<Session, "fold">): KeptPlan | undefined {
  return planShape.safeParse(fold.projection.settings.get(planName)).data;
}

/** The mode, and that the model knows of it. */
const modeDrafts = (mode: PermissionMode): readonly Draft[] =>
  [modeName, announcedModeName].map((name) => ({ type: "setting", name, value: nameByMode[mode] }));
const planDraft = ({ text, state }: KeptPlan): Draft => ({ type: "setting", name: planName, value: { text, state } });

/** The announcement comes first: after a crash, twice is better than never. */
function announceModeDrafts(before: PermissionMode, now: PermissionMode): readonly Draft[] {
  const content = renderChange({ kind: "mode", before: nameByMode[before], now: nameByMode[now] });
  const announcement: Draft = { type: "attachment", attachment: { type: hookContextAttachmentType, content } };
  return [...(content === undefined ? [] : [announcement]), ...modeDrafts(now)];
}

const nameByMode: { readonly [Mode in PermissionMode]: NamedMode } = {
  default: "default",
  acceptEdits: "acceptEdits",
  plan: "plan",
  bypass: "bypassPermissions",
};

const modeBySettingName: { readonly [Name in NamedMode]: PermissionMode } = {
  default: "default",
  acceptEdits: "acceptEdits",
  plan: "plan",
  bypassPermissions: "bypass",
};

interface PlanningInput {
  readonly mode: Pick<SessionMode, "enter" | "keepPlan" | "leave">;
  /** The file in which the user reads the plan. */
  readonly file: Pick<NotesFile, "path" | "write">;
  readonly user: PlanReview;
}

/** The plan in the log counts; the file is for the user to read, and is written first. */
export const createPlanning = (input: PlanningInput): PlanMode => ({
  enter: async () => {
    const entered = await input.mode.enter();
    return entered.kind === "failed" ? planningFailure(entered.message) : { kind: "on" };
  },
  propose: (plan, signal) => proposePlan(input, { plan, signal }),
});

async function proposePlan(
  { mode, file, user }: PlanningInput,
  { plan, signal }: { readonly plan: string; readonly signal: AbortSignal },
): Promise<ProposePlanOutcome> {
  const entered = await mode.enter();
  if (entered.kind === "failed") return planningFailure(entered.message);
  const written = await file.write(plan);
  if (written.kind === "failed") return planningFailure(written.message);
  const stored = await mode.keepPlan({ text: plan, state: "proposed" });
  if (stored.kind === "failed") return planningFailure(stored.message);
  const answer: PlanAnswer = await user.review({ plan, path: file.path }, signal);
  if (signal.aborted) return { kind: "refused" };
  switch (answer.kind) {
    case "refused":
    case "nobody":
      return answer;
    case "accepted": {
      const { plan: accepted = plan } = answer;
      const rewritten = accepted === plan ? written : await file.write(accepted);
      if (rewritten.kind === "failed") return planningFailure(rewritten.message);
      const left = await mode.leave(answer.mode, accepted);
      if (left.kind === "failed") return planningFailure(left.message);
      const { plan: _same, ...rest } = answer;
      return accepted === plan ? rest : answer;
    }
  }
}

const planningFailure = (message: string): PlanModeFailure => ({ kind: "failed", message });
