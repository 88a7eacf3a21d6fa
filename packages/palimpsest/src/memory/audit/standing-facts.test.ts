import { describe, expect, it } from "vitest";
import { readFacts, StandingFacts } from "./standing-facts.ts";

const stands = (sentence: string, text: string): boolean =>
  readFacts(`${sentence}\n`, "a.md").every((fact) => new StandingFacts([text]).has(fact));

describe("a fact", () => {
  const kept: readonly (readonly [string, string, string])[] = [
    ["stands as it is", "Deploys run on Friday.", "Deploys run on Friday."],
    ["stands in a longer sentence", "Deploys run on Friday.", "By the way, deploys of the api run on Friday at noon."],
    ["stands in other order and form", "Deploys run on Friday.", "On Fridays the deploy is run."],
    ["stands in two sentences", "Use tabs, not spaces.", "Indent: use tabs. Not spaces."],
    ["stands with a date for tomorrow", "The release is tomorrow.", "The release is on 2026-11-18."],
    [
      "stands with one of many words gone",
      "The api server listens on port 4000 behind nginx since the move to Frankfurt.",
      "The api server listens on port 4000 behind nginx since moving to Frankfurt.",
    ],
  ];
  it.each(kept)("%s", (_, sentence, text) => {
    expect(stands(sentence, text)).toBe(true);
  });

  const gone: readonly (readonly [string, string, string])[] = [
    ["with another day", "Deploys run on Monday.", "Deploys run on Friday."],
    [
      "with another number",
      "The api server listens on port 4000 behind nginx since the move to Frankfurt.",
      "The api server listens on port 5000 behind nginx since the move to Frankfurt.",
    ],
    ["that is denied now", "Deploys run on Monday.", "Deploys run on Friday, not on Monday."],
    ["whose denial is gone", "Don't deploy on Friday.", "Deploy on Friday."],
    ["that is turned round", "Use tabs, not spaces.", "Use spaces, not tabs."],
    [
      "whose words are far apart",
      "Deploys run on Friday.",
      "Deploys matter.\nA.\nB.\nC.\nThe tests run.\nD.\nE.\nF.\nFriday is free.",
    ],
    ["of which nothing is left", "Deploys run on Friday.", ""],
  ];
  it.each(gone)("is gone: one %s", (_, sentence, text) => {
    expect(stands(sentence, text)).toBe(false);
  });

  it("is a sentence of the text; of a memory without text its description", () => {
    const front = (body: string) => `---\nname: Deploy\ndescription: When deploys run\ntype: project\n---\n\n${body}`;
    expect(
      readFacts(front("# Days\n\nFriday at noon. Never on Monday."), "a.md").map(({ sentence }) => sentence),
    ).toEqual(["Days", "Friday at noon.", "Never on Monday."]);
    expect(readFacts(front(""), "a.md").map(({ sentence }) => sentence)).toEqual(["When deploys run"]);
  });
});
