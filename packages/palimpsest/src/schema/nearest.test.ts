import { expect, it } from "vitest";
import { nearest } from "./nearest.ts";

const names = ["view", "sessions", "expand", "undo", "demo"];

it.each([
  ["veiw", "view"],
  ["vew", "view"],
  ["session", "sessions"],
  ["sess", "sessions"],
  ["expnad", "expand"],
  ["nudo", "undo"],
])("takes %s for %s", (word, name) => {
  expect(nearest(word, names)).toBe(name);
});

it.each(["", "x", "nonsense", "list"])("makes no guess for %j", (word) => {
  expect(nearest(word, names)).toBeUndefined();
});
