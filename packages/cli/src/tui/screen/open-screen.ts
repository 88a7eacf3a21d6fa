import type {
  PermissionAnswer,
  PermissionPrompt,
  QuestionAnswer,
  QuestionPrompt,
} from "palimpsest/internal/ports/user-port";
import type { PlanAnswer, PlanReviewRequest } from "palimpsest/internal/ports/plan-mode";
import type {
  ChatHandlers,
  ChoicePrompt,
  EditPrompt,
  PreviewAnswer,
  PreviewPrompt,
  ChatUi,
  Transcript,
} from "../chat-ui.ts";
import type { AskedImport } from "palimpsest/internal/memory/load-instruction-file";
import type { TrustRequest } from "../../agent/pending-trust.ts";
import { importDialog, type ImportDecision } from "../dialog/import-dialog.ts";
import {
  type TrustDecision,
  trustDialog,
  type ApprovalPrompt,
  approveDialog,
  type ServerDecision,
} from "../dialog/trust-dialog.ts";
import { chooseDialog } from "../dialog/choose-dialog.ts";
import type { Dialog, DialogDeps } from "../dialog/dialog.ts";
import { permissionDialog } from "../dialog/permission-dialog.ts";
import { editDialog, planDialog } from "../dialog/plan-dialog.ts";
import { previewDialog } from "../dialog/preview-dialog.ts";
import { questionDialog } from "../dialog/question-dialog.ts";
import type { ChatState } from "../state/chat-state.ts";
import { createTheme, type Colours } from "../theme.ts";
import { Viewer } from "../viewer/viewer.ts";
import { createDrawFunctions } from "../draw/draw-functions.ts";
import { ChatEditor } from "../input/chat-editor.ts";
import { ChatTui, type LongLineMode } from "./chat-tui.ts";
import { Completion } from "../input/completion.ts";
import { GuardedTerminal } from "./guarded-terminal.ts";
import { KeyHandler, EditorSlot } from "./key-handler.ts";
import { BottomArea, type ScreenProcess, TerminalOwner } from "./terminal-owner.ts";
import { ChatTail } from "./chat-tail.ts";
import type { Terminal } from "@earendil-works/pi-tui";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { FileListDep, PauseDep } from "../input/file-completion.ts";
import type { InputHistory } from "../input/input-history.ts";
import type { ChatItem } from "../state/chat-item.ts";
import type { ItemDetail } from "../state/item-detail.ts";

export const openScreen = (deps: ScreenDeps, handlers: ChatHandlers): Screen => new ChatScreen(deps, handlers);

/** From top to bottom: the tail of the chat, then the bottom area with the editor slot. The viewer replaces all of it. */
class ChatScreen implements Screen {
  readonly answeredBy = "user";
  readonly #host: ScreenProcess;
  readonly #handlers: ChatHandlers;
  readonly #terminal: GuardedTerminal;
  readonly #tail: ChatTail;
  readonly #completion: Completion;
  readonly #editor: ChatEditor;
  readonly #slot: EditorSlot;
  readonly #bottom: BottomArea;
  readonly #viewer: Viewer;
  readonly #owner: TerminalOwner;
  readonly #keys: KeyHandler;
  readonly #dialogDeps: DialogDeps;
  readonly #history: ScreenDeps["history"];
  #state: ChatState | undefined;
  #unlisten: readonly (() => void)[] = [];

  constructor(deps: ScreenDeps, handlers: ChatHandlers) {
    const { colours, cwd, narrowing, now, detail, host } = deps;
    const theme = createTheme(colours);
    const drawing = createDrawFunctions({ theme, cwd, now });
    const requestRender = (): void => this.#owner.draw();
    const terminal = new GuardedTerminal(deps.terminal, colours);
    const tail = new ChatTail({ drawing, now });
    const tui = new ChatTui({ terminal, tail, narrowing });
    const completion = new Completion({ ...deps, complete: (of, typed) => handlers.complete(of, typed) });
    const editor = new ChatEditor({
      tui,
      theme,
      completion,
      submit: (text) => handlers.submit(text),
      changed: () => handlers.typed?.(),
    });
    const slot = new EditorSlot(editor, (component) => {
      tui.setFocus(component);
      requestRender();
    });
    const bottom = new BottomArea({ drawing, now, requestRender }, slot);
    const onClose = (): void => this.#owner.closeViewer();
    this.#viewer = new Viewer({ terminal: deps.terminal, theme, cwd, drawing, now, detail, onClose });
    this.#owner = new TerminalOwner({ tui, tail, bottom, viewer: this.#viewer, host });
    const keyDeps = { now, handlers, editor, slot, state: () => this.#state };
    this.#keys = new KeyHandler({
      ...keyDeps,
      hint: (text) => {
        bottom.setHint(text);
        requestRender();
      },
      redraw: () => tui.redraw(),
      openViewer: () => {
        if (this.#state !== undefined) this.#owner.openViewer(this.#state);
      },
      suspend: () => this.#owner.suspend(),
    });
    tui.addChild(tail);
    tui.addChild(bottom);
    tui.setFocus(editor);
    tui.addInputListener((data) => this.#keys.press(data));
    this.#host = host;
    this.#history = deps.history;
    this.#handlers = handlers;
    this.#terminal = terminal;
    this.#tail = tail;
    this.#completion = completion;
    this.#editor = editor;
    this.#slot = slot;
    this.#bottom = bottom;
    this.#dialogDeps = { tui, theme, cwd, now, requestRender };
  }

  get columns(): number {
    return this.#terminal.columns;
  }

  get typed(): string {
    return this.#editor.typed;
  }

  start(): void {
    const restore = (): void => this.#owner.restore();
    const quit = (): void => this.#handlers.quit();
    // After the first signal the listeners are removed, so that a second one ends the process at once.
    const leave = (): void => {
      for (const unlisten of signals) unlisten();
      restore();
      quit();
    };
    const signals = [this.#host.on("terminate", leave), this.#host.on("interrupt", leave)];
    this.#unlisten = [
      this.#host.on("hangup", quit),
      this.#host.on("gone", quit),
      ...signals,
      this.#host.on("crash", restore),
      this.#host.on("exit", restore),
      this.#host.on("continue", () => this.#owner.continued()),
    ];
    this.#owner.enter();
    void this.#loadHistory();
  }

  async stop(): Promise<void> {
    this.#keys.close();
    this.#completion.close();
    for (const unlisten of this.#unlisten) unlisten();
    this.#unlisten = [];
    // The shell would read key releases that are still to come.
    if (this.#owner.on !== "nothing" && this.#terminal.kittyProtocolActive) await this.#terminal.drainInput();
    this.#owner.leave();
  }

  show(state: ChatState): void {
    this.#state = state;
    this.#tail.show(state);
    this.#bottom.show(state);
    this.#viewer.show(state);
    if (this.#owner.on !== "screen") this.#bottom.pause();
    this.#owner.draw();
  }

  setStatusline(lines: readonly string[]): void {
    this.#bottom.setStatusline(lines);
    this.#owner.draw();
  }

  openTranscript(place: Transcript, signal: AbortSignal): Promise<"shown" | "not-shown"> {
    return this.#owner.openTranscript(place, signal);
  }

  refill(text: string): void {
    this.#editor.refill(text);
    this.#owner.draw();
  }

  permission(request: PermissionPrompt, signal: AbortSignal): Promise<PermissionAnswer> {
    return this.#ask((deps) => permissionDialog(request, deps), signal);
  }

  question(request: QuestionPrompt, signal: AbortSignal): Promise<QuestionAnswer> {
    return this.#ask((deps) => questionDialog(request, deps), signal);
  }

  review(ask: PlanReviewRequest, signal: AbortSignal): Promise<PlanAnswer> {
    return this.#ask((deps) => planDialog(ask, deps), signal);
  }

  choose(ask: ChoicePrompt, signal: AbortSignal): Promise<string | undefined> {
    return this.#ask((deps) => chooseDialog(ask, deps), signal);
  }

  preview(ask: PreviewPrompt, signal: AbortSignal): Promise<PreviewAnswer> {
    return this.#ask((deps) => previewDialog(ask, deps), signal);
  }

  edit(ask: EditPrompt, signal: AbortSignal): Promise<string | undefined> {
    return this.#ask((deps) => editDialog(ask, deps), signal);
  }

  approve(ask: ApprovalPrompt, signal: AbortSignal): Promise<readonly ServerDecision[]> {
    return this.#ask((deps) => approveDialog(ask, deps), signal);
  }

  trust(ask: TrustRequest, signal: AbortSignal): Promise<TrustDecision> {
    return this.#ask((deps) => trustDialog(ask, deps), signal);
  }

  imports(ask: readonly AskedImport[], signal: AbortSignal): Promise<readonly ImportDecision[]> {
    return this.#ask((deps) => importDialog(ask, deps), signal);
  }

  async #loadHistory(): Promise<void> {
    const history = await this.#history();
    if (history !== undefined) this.#editor.remember(history);
  }

  #ask<Answer>(create: (deps: DialogDeps) => Dialog<Answer>, signal: AbortSignal): Promise<Answer> {
    return this.#slot.ask(() => create(this.#dialogDeps), signal);
  }
}

export interface ScreenDeps extends ClockDep, FileListDep, PauseDep {
  readonly terminal: Terminal;
  /** The working folder: paths below it are shown relative to it. */
  readonly cwd: string;
  readonly colours: Colours;
  readonly narrowing: LongLineMode;
  readonly host: ScreenProcess;
  /** Called once and not awaited, so that the prompt appears first. Undefined if there is no history. */
  readonly history: () => Promise<InputHistory | undefined>;
  /** What an item of the chat unfolds into. Must not reject. */
  readonly detail: (item: ChatItem) => Promise<ItemDetail>;
}

/** A chat in a terminal. Its lines stay in the terminal's scrollback. */
export interface Screen extends ChatUi {
  start(): void;
  /** Restores the terminal, with the cursor below the chat. Must not reject, and may be called twice. */
  stop(): Promise<void>;
  /** Shows the output of a statusline command, styled and printable; an empty list removes it. */
  setStatusline(lines: readonly string[]): void;
  /** The text that is typed but not sent. */
  readonly typed: string;
  /** Asks which of the project's MCP servers may be used; the answers are in their order. */
  approve(ask: ApprovalPrompt, signal: AbortSignal): Promise<readonly ServerDecision[]>;
  /** Asks whether the project's settings are trusted. */
  trust(ask: TrustRequest, signal: AbortSignal): Promise<TrustDecision>;
  /** Asks which files outside of the project its instructions may include; the answers are in their order. */
  imports(ask: readonly AskedImport[], signal: AbortSignal): Promise<readonly ImportDecision[]>;
}
