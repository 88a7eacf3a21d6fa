import { describe, expect, test } from "vitest";
import { millis } from "palimpsest/internal/schema/brand";
import { keyAction, type KeyAction, type KeyContext } from "./key-handler.ts";

const still: KeyContext = {
  slot: "editor",
  text: "empty",
  completion: "none",
  work: "none",
  queued: 0,
  memories: "none",
  armed: undefined,
  now: millis(5_000),
};
const [escape, ctrlC, up] = ["\u001B", "\u0003", "\u001B[A"];
const armed = (act: "clear" | "quit", at: number): Partial<KeyContext> => ({ armed: { act, at: millis(at) } });

describe("a key", () => {
  test.each<[string, string, Partial<KeyContext>, KeyAction]>([
    ["Esc closes candidates", escape, { completion: "open", work: "running" }, { kind: "pass" }],
    ["Esc ends what runs, whatever is typed", escape, { work: "running", text: "some" }, { kind: "interrupt" }],
    ["Esc with nothing to do does nothing", escape, {}, { kind: "nothing" }],
    ["Esc arms clearing", escape, { text: "some" }, { kind: "arm", act: "clear" }],
    ["Esc clears the second time", escape, { text: "some", ...armed("clear", 4_500) }, { kind: "clear" }],
    ["Esc too late arms again", escape, { text: "some", ...armed("clear", 4_000) }, { kind: "arm", act: "clear" }],
    ["Esc after Ctrl-C only arms", escape, { text: "some", ...armed("quit", 4_500) }, { kind: "arm", act: "clear" }],
    ["Ctrl-C clears", ctrlC, { text: "some", ...armed("quit", 4_500) }, { kind: "clear" }],
    ["Ctrl-C arms quitting", ctrlC, {}, { kind: "arm", act: "quit" }],
    ["Ctrl-C quits the second time", ctrlC, armed("quit", 4_001), { kind: "quit" }],
    ["Ctrl-C too late arms again", ctrlC, armed("quit", 4_000), { kind: "arm", act: "quit" }],
    ["Ctrl-C in a dialog is the dialog's", ctrlC, { slot: "dialog", ...armed("quit", 4_900) }, { kind: "pass" }],
    ["Esc in a dialog is the dialog's", escape, { slot: "dialog", work: "running" }, { kind: "pass" }],
    ["Ctrl-D in a dialog is the dialog's", "\u0004", { slot: "dialog" }, { kind: "pass" }],
    ["Ctrl-D quits an empty editor", "\u0004", {}, { kind: "quit" }],
    ["Up takes back what is queued", up, { queued: 1, work: "running" }, { kind: "take-back" }],
    ["Up moves in what is typed", up, { queued: 1, text: "some" }, { kind: "pass" }],
    ["Up goes through history", up, {}, { kind: "pass" }],
    ["Up moves among candidates", up, { queued: 1, completion: "open" }, { kind: "pass" }],
    ["Shift-Tab", "\u001B[Z", { text: "some", work: "running" }, { kind: "next-mode" }],
    ["Ctrl-R takes back what was just saved", "\u0012", { memories: "fresh", text: "some" }, { kind: "undo-memories" }],
    ["Ctrl-R with nothing saved since the last message", "\u0012", {}, { kind: "pass" }],
    ["Ctrl-R in a dialog is the dialog's", "\u0012", { slot: "dialog", memories: "fresh" }, { kind: "pass" }],
    ["Ctrl-L, in a dialog too", "\u000C", { slot: "dialog" }, { kind: "redraw" }],
    ["Ctrl-O, in a dialog too", "\u000F", { slot: "dialog" }, { kind: "viewer" }],
    ["Ctrl-Z, in a dialog too", "\u001A", { slot: "dialog" }, { kind: "suspend" }],
    ["a paste is a text, whatever it holds", "\u001B[200~\u0003\u001B[201~", {}, { kind: "pass" }],
    ["a letter", "q", {}, { kind: "pass" }],
  ])("%s", (_, data, scene, expected) => {
    expect(keyAction(data, { ...still, ...scene })).toEqual(expected);
  });
});
