import { isKeyRelease, matchesKey } from "@earendil-works/pi-tui";

export type ViewerAct = "close" | "previous" | "next" | "fold" | "fold-all";

/** Undefined where the key scrolls or searches, or is none of the viewer's. */
export function viewerActOf(data: string): ViewerAct | undefined {
  if (isKeyRelease(data)) return undefined;
  return keys.find(({ key }) => matchesKey(data, key))?.act;
}

const keys = [
  { key: "escape", act: "close" },
  { key: "q", act: "close" },
  { key: "ctrl+o", act: "close" },
  { key: "ctrl+c", act: "close" },
  { key: "up", act: "previous" },
  { key: "k", act: "previous" },
  { key: "down", act: "next" },
  { key: "j", act: "next" },
  { key: "enter", act: "fold" },
  { key: "space", act: "fold" },
  { key: "a", act: "fold-all" },
] as const;
