import { expect, it } from "vitest";
import { saysWhatLasts } from "./plan.ts";

it.each([
  "Never deploy on a Friday.",
  "good, and do not add emojis to headings",
  "renaming a private field is never a migration",
  "generated files should not be edited by hand ever",
  "we removed that flag on purpose",
  "the exporter is new, so no need for a fallback",
  "I would only want contract tests for this port",
  "Why aren't we using the shared fixture here?",
  "why are you still calling the old endpoint?",
  "no, leave the margin alone",
  "ok. no, it was the other branch",
  "I meant the second file",
  "that's not the config I use",
  "you didn’t run the linter",
  "Exactly, keep doing it that way.",
  "Merk dir: immer mit Tests.",
  "以后不要这样",
])("a correction, a confirmation or a standing wish is found: %s", (message) => {
  expect(saysWhatLasts(message)).toBe(true);
});

it.each([
  "ship it",
  "yes, drop both",
  "Yes, please write it down.",
  "I want you to look at issue 12 and tell me what you think",
  "can you update the changelog?",
  "start with the first step",
  "what is the difference between the two formats?",
])("an order or a question is not: %s", (message) => {
  expect(saysWhatLasts(message)).toBe(false);
});

it("pasted text says such words in passing and does not count", () => {
  const log = "the server never answers\nalways retry\n".repeat(60);
  expect(saysWhatLasts(`Implement the following plan:\n\n${log}`)).toBe(false);
  expect(saysWhatLasts(`that must never happen again\n${log}`)).toBe(true);
  expect(saysWhatLasts("fix this\n```\n// never call this twice\n```\nplease")).toBe(false);
});
