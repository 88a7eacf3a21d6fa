import type { PermissionAnswer, PermissionAsk, QuestionAnswer, QuestionAsk } from "palimpsest/internal/ports/person";
import type { PlanAnswer, PlanAsk } from "palimpsest/internal/ports/planning";
import type { ChatHandlers, ChoiceAsk, EditAsk, PreviewAnswer, PreviewAsk } from "../chat-ui.ts";
import type { TrustAsk } from "../../agent/pending-trust.ts";
import { type TrustDecision, trustDialog } from "../dialog/trust.ts";
import { type ApproveAsk, approveDialog, type ServerDecision } from "../dialog/approve.ts";
import { chooseDialog } from "../dialog/choose.ts";
import type { Dialog, DialogDeps } from "../dialog/dialog.ts";
import { editDialog } from "../dialog/edit.ts";
import { permissionDialog } from "../dialog/permission.ts";
import { planDialog } from "../dialog/plan.ts";
import { previewDialog } from "../dialog/preview.ts";
import { questionDialog } from "../dialog/question.ts";
import type { ChatState } from "../state/chat-shape.ts";
import { createTheme } from "../theme/theme.ts";
import { Viewer } from "../viewer/viewer.ts";
import { Bottom } from "./bottom.ts";
import { chatDrawing } from "./chat-drawing.ts";
import { ChatEditor } from "./chat-editor.ts";
import { ChatTui } from "./chat-tui.ts";
import { Completion } from "./completion.ts";
import { GuardedTerminal } from "./guarded-terminal.ts";
import type { ScreenHost } from "./host.ts";
import { KeyHandling } from "./key-handling.ts";
import type { Screen, ScreenDeps } from "./screen.ts";
import { Slot } from "./slot.ts";
import { Stage } from "./stage.ts";
import { Tail } from "./tail.ts";

export const openScreen = (deps: ScreenDeps, handlers: ChatHandlers): Screen => new ChatScreen(deps, handlers);

/** From top to bottom: the tail of the chat, then the bottom with the slot in it. The viewer takes the place of all. */
class ChatScreen implements Screen {
  readonly #host: ScreenHost;
  readonly #handlers: ChatHandlers;
  readonly #terminal: GuardedTerminal;
  readonly #tail: Tail;
  readonly #completion: Completion;
  readonly #editor: ChatEditor;
  readonly #slot: Slot;
  readonly #bottom: Bottom;
  readonly #viewer: Viewer;
  readonly #stage: Stage;
  readonly #keys: KeyHandling;
  readonly #dialogDeps: DialogDeps;
  readonly #history: ScreenDeps["history"];
  #state: ChatState | undefined;
  #unlisten: readonly (() => void)[] = [];

  constructor(deps: ScreenDeps, handlers: ChatHandlers) {
    const { colours, cwd, narrowing, now, detail, host } = deps;
    const theme = createTheme(colours);
    const drawing = chatDrawing({ theme, cwd, now });
    const requestRender = (): void => this.#stage.draw();
    const terminal = new GuardedTerminal(deps.terminal, colours);
    const tail = new Tail({ drawing, now });
    const tui = new ChatTui({ terminal, tail, narrowing });
    const completion = new Completion({ ...deps, complete: (of, typed) => handlers.complete(of, typed) });
    const editor = new ChatEditor({
      tui,
      theme,
      completion,
      submit: (text) => handlers.submit(text),
      changed: () => handlers.typed?.(),
    });
    const slot = new Slot(editor, (component) => {
      tui.setFocus(component);
      requestRender();
    });
    const bottom = new Bottom({ drawing, now, requestRender }, slot);
    const onClose = (): void => this.#stage.closeViewer();
    this.#viewer = new Viewer({ terminal: deps.terminal, theme, cwd, drawing, now, detail, onClose });
    this.#stage = new Stage({ tui, tail, bottom, viewer: this.#viewer, host });
    const keyDeps = { now, handlers, editor, slot, state: () => this.#state };
    this.#keys = new KeyHandling({
      ...keyDeps,
      hint: (text) => {
        bottom.setHint(text);
        requestRender();
      },
      redraw: () => tui.redraw(),
      openViewer: () => {
        if (this.#state !== undefined) this.#stage.openViewer(this.#state);
      },
      suspend: () => this.#stage.suspend(),
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
    const restore = (): void => this.#stage.restore();
    const quit = (): void => this.#handlers.quit();
    // Asked a second time, the process ends at once, as it does where nobody listens.
    const leave = (): void => {
      for (const unlisten of asked) unlisten();
      restore();
      quit();
    };
    const asked = [this.#host.on("terminate", leave), this.#host.on("interrupt", leave)];
    this.#unlisten = [
      this.#host.on("hangup", quit),
      this.#host.on("gone", quit),
      ...asked,
      this.#host.on("crash", restore),
      this.#host.on("exit", restore),
      this.#host.on("continue", () => this.#stage.continued()),
    ];
    this.#stage.enter();
    void this.#remember();
  }

  async stop(): Promise<void> {
    this.#keys.close();
    this.#completion.close();
    for (const unlisten of this.#unlisten) unlisten();
    this.#unlisten = [];
    // Releases of keys that are still on their way would be read by the shell.
    if (this.#stage.on !== "nothing" && this.#terminal.kittyProtocolActive) await this.#terminal.drainInput();
    this.#stage.leave();
  }

  show(state: ChatState): void {
    this.#state = state;
    this.#tail.show(state);
    this.#bottom.show(state);
    this.#viewer.show(state);
    if (this.#stage.on !== "screen") this.#bottom.pause();
    this.#stage.draw();
  }

  setStatusline(lines: readonly string[]): void {
    this.#bottom.setStatusline(lines);
    this.#stage.draw();
  }

  refill(text: string): void {
    this.#editor.refill(text);
    this.#stage.draw();
  }

  permission(request: PermissionAsk, signal: AbortSignal): Promise<PermissionAnswer> {
    return this.#ask((deps) => permissionDialog(request, deps), signal);
  }

  question(request: QuestionAsk, signal: AbortSignal): Promise<QuestionAnswer> {
    return this.#ask((deps) => questionDialog(request, deps), signal);
  }

  review(ask: PlanAsk, signal: AbortSignal): Promise<PlanAnswer> {
    return this.#ask((deps) => planDialog(ask, deps), signal);
  }

  choose(ask: ChoiceAsk, signal: AbortSignal): Promise<string | undefined> {
    return this.#ask((deps) => chooseDialog(ask, deps), signal);
  }

  preview(ask: PreviewAsk, signal: AbortSignal): Promise<PreviewAnswer> {
    return this.#ask((deps) => previewDialog(ask, deps), signal);
  }

  edit(ask: EditAsk, signal: AbortSignal): Promise<string | undefined> {
    return this.#ask((deps) => editDialog(ask, deps), signal);
  }

  approve(ask: ApproveAsk, signal: AbortSignal): Promise<readonly ServerDecision[]> {
    return this.#ask((deps) => approveDialog(ask, deps), signal);
  }

  trust(ask: TrustAsk, signal: AbortSignal): Promise<TrustDecision> {
    return this.#ask((deps) => trustDialog(ask, deps), signal);
  }

  async #remember(): Promise<void> {
    const history = await this.#history();
    if (history !== undefined) this.#editor.remember(history);
  }

  #ask<Answer>(make: (deps: DialogDeps) => Dialog<Answer>, signal: AbortSignal): Promise<Answer> {
    return this.#slot.ask(() => make(this.#dialogDeps), signal);
  }
}
