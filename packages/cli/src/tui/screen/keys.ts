import { matchesKey } from "@earendil-works/pi-tui";
import type { Millis } from "palimpsest/internal/schema/brand";
import { pasteStart } from "../input/paste.ts";
import { twiceMillis } from "./limits.ts";

/** What a key finds when it is pressed. */
export interface Scene {
  readonly slot: "editor" | "dialog";
  readonly text: "empty" | "some";
  /** Whether candidates are shown below the editor. */
  readonly completion: "open" | "none";
  readonly work: "running" | "none";
  readonly queued: number;
  readonly armed: Armed | undefined;
  readonly now: Millis;
}

/** A key that does something when it comes a second time. */
export interface Armed {
  readonly act: "clear" | "quit";
  readonly at: Millis;
}

export type KeyAct =
  /** For the editor or the dialog. */
  | { readonly kind: "pass"; readonly data?: string }
  | { readonly kind: "nothing" }
  | { readonly kind: "interrupt" | "clear" | "take-back" | "next-mode" | "quit" | "redraw" | "viewer" | "suspend" }
  | { readonly kind: "arm"; readonly act: Armed["act"] };

/** Keys that are the chat's own, before whatever has the focus sees them. That one is released is no key. */
export function actOfKey(data: string, scene: Scene): KeyAct {
  if (data.startsWith(pasteStart)) return pass;
  const anywhere = everywhere.find(({ key }) => matchesKey(data, key));
  if (anywhere !== undefined) return { kind: anywhere.act };
  if (scene.slot === "dialog") return pass;
  if (matchesKey(data, "escape")) return atEscape(scene);
  if (matchesKey(data, "ctrl+c")) return atCtrlC(scene);
  if (matchesKey(data, "ctrl+d") && scene.text === "empty") return { kind: "quit" };
  if (matchesKey(data, "shift+tab")) return { kind: "next-mode" };
  if (matchesKey(data, "alt+enter")) return { kind: "pass", data: newLine };
  const isUp = matchesKey(data, "up") && scene.completion === "none";
  return isUp && scene.text === "empty" && scene.queued > 0 ? { kind: "take-back" } : pass;
}

/** Closes candidates; ends what runs; clears, the second time. */
function atEscape(scene: Scene): KeyAct {
  if (scene.completion === "open") return pass;
  if (scene.work === "running") return { kind: "interrupt" };
  if (scene.text === "empty") return { kind: "nothing" };
  return isArmed(scene, "clear") ? { kind: "clear" } : { kind: "arm", act: "clear" };
}

function atCtrlC(scene: Scene): KeyAct {
  if (scene.text === "some") return { kind: "clear" };
  return isArmed(scene, "quit") ? { kind: "quit" } : { kind: "arm", act: "quit" };
}

const isArmed = ({ armed, now }: Scene, act: Armed["act"]): boolean =>
  armed?.act === act && now - armed.at < twiceMillis;

const pass: KeyAct = { kind: "pass" };
/** As the editor takes it. */
const newLine = "\n";

const everywhere = [
  { key: "ctrl+l", act: "redraw" },
  { key: "ctrl+o", act: "viewer" },
  { key: "ctrl+z", act: "suspend" },
] as const;
