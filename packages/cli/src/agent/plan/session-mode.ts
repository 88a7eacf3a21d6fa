import { z } from "zod";
import type { ModeAfterPlan } from "palimpsest/internal/ports/planning";
import type { PermissionMode } from "../../tool/permission/decide.ts";
import type { KeptPlan, PlanState } from "../../tool/working-state/plan.ts";
import { hookContextAttachment } from "palimpsest/internal/transcript/attachment";
import { type Draft, toldSetting } from "palimpsest/internal/transcript/draft";
import type { Appended, Session } from "palimpsest/internal/session/session";
import { type PermissionMode as NamedMode, renderChange } from "../system-prompt/change.ts";

export interface SessionModeInput {
  readonly session: Pick<Session, "append" | "fold">;
  /** What flags and settings gave when the session was opened: as wide as it gets by itself. */
  readonly opening: () => PermissionMode;
}

/**
 * The permission mode of one session. What was changed since it was opened stands in the log, as settings, so a resume, a
 * fork and another branch find it there. What a log says can narrow; it widens only as far as a person widened it in this
 * process, because any log may have come from elsewhere.
 *
 *   opening ──enter──▶ plan ──a person accepts──▶ default, acceptEdits ──enter──▶ plan …
 *   any ──a person changes it──▶ any
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
    const logged = this.#logged();
    const opening = this.#opening();
    return logged === undefined ? opening : narrower(logged, wider(opening, this.#granted));
  }

  state(): PlanState {
    const modeText =
      this.current() === "plan" ? renderChange({ kind: "mode", before: "default", now: "plan" }) : undefined;
    return { modeText, plan: planIn(this.#session) };
  }

  /** The model is told by who calls this. */
  async enter(): Promise<Appended> {
    if (this.#logged() === "plan" && this.#told() === "plan") return nothing;
    return await this.#session.append(...modeDrafts("plan"));
  }

  async keepPlan(plan: KeptPlan): Promise<Appended> {
    return await this.#session.append(planDraft(plan));
  }

  /** On a person's word only. The model is told by who calls this. */
  async leave(mode: ModeAfterPlan, plan: string): Promise<Appended> {
    // The mode last: cut off between the two, the session is still in plan mode.
    const written = await this.#session.append(planDraft({ text: plan, state: "accepted" }), ...modeDrafts(mode));
    if (written.kind === "appended") this.#granted = wider(this.#granted, mode);
    return written;
  }

  /** On a person's word only: a key, a flag. The model is told. */
  async change(mode: PermissionMode): Promise<Appended> {
    const before = this.current();
    const written = await this.#session.append(...toldDrafts(before, mode));
    if (written.kind === "appended") this.#granted = wider(this.#granted, mode);
    return written;
  }

  /**
   * Tells the model of a mode that it does not know of: before the first request, where a session is gone on with under
   * another one, and behind a rewind, which the mode goes through and its telling does not. Of no mode but plan is told
   * what was so from the start.
   */
  async tell(): Promise<Appended> {
    const [known, now] = [this.#told(), this.current()];
    if (known === now || (known === undefined && now !== "plan")) return nothing;
    return await this.#session.append(...toldDrafts(known ?? "default", now));
  }

  #logged(): PermissionMode | undefined {
    return this.#named(modeName);
  }

  #told(): PermissionMode | undefined {
    return this.#named(toldName);
  }

  #named(setting: string): PermissionMode | undefined {
    const named = modeShape.safeParse(this.#session.fold.projection.settings.get(setting)).data;
    return named === undefined ? undefined : modeByName[named];
  }
}

const nothing: Appended = { kind: "appended", entries: [] };

/** Both kept as settings of the session: they go through boundaries with the others. */
const modeName = "session.permissionMode";
const planName = "session.plan";
/** What the model takes it to be. */
const toldName = toldSetting("permissionMode");

const modeShape = z.enum(["default", "acceptEdits", "plan", "bypassPermissions"]);
const planShape = z.object({ text: z.string(), state: z.enum(["proposed", "accepted"]) });

function planIn({ fold }: Pick<Session, "fold">): KeptPlan | undefined {
  return planShape.safeParse(fold.projection.settings.get(planName)).data;
}

/** The mode, and that the model knows of it. */
const modeDrafts = (mode: PermissionMode): readonly Draft[] =>
  [modeName, toldName].map((name) => ({ type: "setting", name, value: nameOf[mode] }));
const planDraft = ({ text, state }: KeptPlan): Draft => ({ type: "setting", name: planName, value: { text, state } });

/** The telling first: told twice after a crash is better than never. */
function toldDrafts(before: PermissionMode, now: PermissionMode): readonly Draft[] {
  const content = renderChange({ kind: "mode", before: nameOf[before], now: nameOf[now] });
  const telling: Draft = { type: "attachment", attachment: { type: hookContextAttachment, content } };
  return [...(content === undefined ? [] : [telling]), ...modeDrafts(now)];
}

const nameOf: { readonly [Mode in PermissionMode]: NamedMode } = {
  default: "default",
  acceptEdits: "acceptEdits",
  plan: "plan",
  bypass: "bypassPermissions",
};

const modeByName: { readonly [Name in NamedMode]: PermissionMode } = {
  default: "default",
  acceptEdits: "acceptEdits",
  plan: "plan",
  bypassPermissions: "bypass",
};

const widthOf: { readonly [Mode in PermissionMode]: number } = { plan: 0, default: 1, acceptEdits: 2, bypass: 3 };

const narrower = (one: PermissionMode, other: PermissionMode): PermissionMode =>
  widthOf[one] <= widthOf[other] ? one : other;
const wider = (one: PermissionMode, other: PermissionMode): PermissionMode =>
  widthOf[one] >= widthOf[other] ? one : other;
