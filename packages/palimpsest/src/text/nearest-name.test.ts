import { expect, it } from "vitest";
import { nearestName } from "./nearest-name.ts";

const names = ["view", "sessions", "expand", "undo", "demo"];

it.each([
  ["veiw", "view"],
  ["vew", "view"],
  ["session", "sessions"],
  ["sess", "sessions"],
  ["expnad", "expand"],
  ["nudo", "undo"],
])("takes %s for %s", (word, name) => {
  expect(nearestName(word, names)).toBe(name);
});

it.each(["", "x", "nonsense", "list"])("makes no guess for %j", (word) => {
  expect(nearestName(word, names)).toBeUndefined();
});
