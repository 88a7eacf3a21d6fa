import { describe, expect, it } from "vitest";
import { readFacts, StandingFacts } from "./standing-facts.ts";

const stands = (sentence: string, text: string): boolean =>
  readFacts(`${sentence}\n`, "a.md").every((fact) => new StandingFacts([text]).states(fact));

const resembles = (sentence: string, text: string): boolean =>
  readFacts(`${sentence}\n`, "a.md").every((fact) => new StandingFacts([text]).resembles(fact));

describe("a fact", () => {
  const kept: readonly (readonly [string, string, string])[] = [
    ["as it is", "Deploys run on Friday.", "Deploys run on Friday."],
    ["among others", "Deploys run on Friday.", "Use tabs. Deploys run on Friday. Ask Ann."],
    ["with other marks, case and articles", "Deploys run on the `main` branch.", "- deploys run on **main** branch"],
    ["without its lead-in", "Note: Deploys run on Friday.", "Deploys run on Friday."],
    ["in two sentences", "Use tabs, not spaces.", "Use tabs. Not spaces."],
    ["with a date for tomorrow", "The release is tomorrow.", "The release is on 2026-11-18."],
    [
      "with a date for a day",
      "Ann is away until next Friday, so ask Bob.",
      "Ann is away until Friday, 2026-11-20, so ask Bob.",
    ],
    ["as a title of one word", "Deploys", "Deploys run on Friday."],
  ];
  it.each(kept)("stands %s", (_, sentence, text) => {
    expect(stands(sentence, text)).toBe(true);
  });

  const gone: readonly (readonly [string, string, string])[] = [
    ["with another day", "Deploys run on Monday.", "Deploys run on Friday."],
    [
      "with another day in many words",
      "The release branch is cut on Tuesday by whoever is on call in the Berlin office.",
      "The release branch is cut on Thursday by whoever is on call in the Berlin office.",
    ],
    [
      "with another unit in many words",
      "All amounts of the billing service are stored in cents in the ledger table.",
      "All amounts of the billing service are stored in dollars in the ledger table.",
    ],
    [
      "with another number",
      "The api server listens on port 4000 behind nginx since the move to Frankfurt.",
      "The api server listens on port 5000 behind nginx since the move to Frankfurt.",
    ],
    ["with another date", "The release is on 2026-11-18.", "The release is on 2026-11-19."],
    ["with after for before", "Run the linter before committing.", "Run the linter after committing."],
    ["without its only", "Only Anna may deploy.", "Anna may deploy."],
    ["with an only more", "Anna may deploy.", "Only Anna may deploy."],
    ["with must for may", "Anna may deploy.", "Anna must deploy."],
    ["the other way round", "We prefer pnpm over npm.", "We prefer npm over pnpm."],
    ["with off for on", "Keep the feature flag on.", "Keep the feature flag off."],
    ["with a sign", "The offset is 1.", "The offset is -1."],
    ["with another operator", "Check that x != y.", "Check that x = y."],
    ["with an exception", "Deploys run on Friday.", "Deploys run on Friday except in May."],
    ["that is denied now", "Deploys run on Monday.", "Deploys run on Friday, not on Monday."],
    ["whose denial is gone", "Don't deploy on Friday.", "Deploy on Friday."],
    ["that is turned round", "Use tabs, not spaces.", "Use spaces, not tabs."],
    ["in other words", "Deploys run on Friday.", "On Fridays the deploy is run."],
    ["whose words are far apart", "Deploys run on Friday.", "Deploys.\nA.\nRun.\nB.\nOn Friday."],
    ["of which nothing is left", "Deploys run on Friday.", ""],
  ];
  it.each(gone)("is gone: one %s", (_, sentence, text) => {
    expect(stands(sentence, text)).toBe(false);
  });

  const resembling: readonly (readonly [string, string, string, boolean])[] = [
    ["in a longer sentence", "Deploys run on Friday.", "By the way, deploys of the api run on Friday at noon.", true],
    ["in other order and form", "Deploys run on Friday.", "On Fridays the deploy is run.", true],
    [
      "with one of many words gone",
      "The api server listens on port 4000 behind nginx since the move to Frankfurt.",
      "The api server listens on port 4000 behind nginx since moving to Frankfurt.",
      true,
    ],
    ["with another day", "Deploys run on Monday.", "Deploys run on Friday.", false],
    ["that is denied", "Don't deploy on Friday.", "Deploy on Friday.", false],
  ];
  it.each(resembling)("resembles one %s, or not", (_, sentence, text, expected) => {
    expect(resembles(sentence, text)).toBe(expected);
  });

  it("is a sentence of the text; of a memory without text its description", () => {
    const front = (body: string) => `---\nname: Deploy\ndescription: When deploys run\ntype: project\n---\n\n${body}`;
    expect(
      readFacts(front("# Days\n\nFriday at noon. Never on Monday."), "a.md").map(({ sentence }) => sentence),
    ).toEqual(["Days", "Friday at noon.", "Never on Monday."]);
    expect(readFacts(front(""), "a.md").map(({ sentence }) => sentence)).toEqual(["When deploys run"]);
  });
});
